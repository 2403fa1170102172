"""Execute notebooks with this Python, each in its own kernel, without a network.

A kernel imports no modules and runs no start-up files from its working folder, which may not be trusted, or from the user's settings. It
leaves no files behind, even if it fails.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbformat import NotebookNode

CELL_TIMEOUT = 600  # seconds
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_KERNEL_COMMAND = ("-P", "-m", "ipykernel_launcher", "-f", "{connection_file}")
_ISOLATION_OPTIONS = ("--InteractiveShellApp.ignore_cwd=True", "--HistoryManager.enabled=False")


def execute(books: "Mapping[str, NotebookNode]", folder: Path, *, cell_timeout: int = CELL_TIMEOUT) -> None:
    """Execute notebooks concurrently in a folder and store the outputs in them.

    An error in a cell, or a timeout, raises `RuntimeError` with the notebook, the cell and the error.
    """
    asyncio.run(_execute_all(books, folder, cell_timeout))


async def _execute_all(books: "Mapping[str, NotebookNode]", folder: Path, cell_timeout: int) -> None:
    tasks = [_execute(book, name, folder, cell_timeout) for name, book in books.items()]
    # Finish each notebook even if the other fails, because a kernel that is starting cannot be stopped.
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if outcome is not None:
            raise outcome


async def _execute(book: "NotebookNode", name: str, folder: Path, cell_timeout: int) -> None:
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, CellExecutionError, DeadKernelError

    with TemporaryDirectory(prefix="callmark-notebook-") as scratch:
        kernel = Path(scratch, "kernels", KERNEL["name"])
        kernel.mkdir(parents=True)
        spec = {"argv": [sys.executable, *_KERNEL_COMMAND, *_ISOLATION_OPTIONS], "env": {"IPYTHONDIR": scratch}, **KERNEL}
        Path(kernel, "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        manager = AsyncKernelManager(
            kernel_name=KERNEL["name"],
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(kernel.parent)]),
            connection_file=str(Path(scratch, "connection.json")),
            transport="ipc",  # sockets in a private folder instead of network ports
            ip=str(Path(scratch, "kernel")),
        )
        client = NotebookClient(
            book, km=manager, timeout=cell_timeout, record_timing=False
        )  # timestamps would make every notebook different
        where = "at the start"
        try:
            await manager.start_kernel(cwd=str(folder))
            await client.async_start_new_kernel_client()
            for index, cell in enumerate(book.cells):
                where = f"cell {cell.id}"
                await client.async_execute_cell(cell, index, execution_count=client.code_cells_executed + 1)
        except (CellControlSignal, DeadKernelError) as error:
            message = f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else str(error)
            raise RuntimeError(f"{name}, {where}: {message}") from error
        finally:
            if client.kc is not None:
                client.kc.stop_channels()
            if manager.has_kernel:
                await manager.shutdown_kernel(now=True)
