"""Notebooks executed by this Python, each in a kernel of its own: nothing is installed, and nobody but this machine is asked.

A kernel takes nothing from the folder that it works in, which may be anybody's, nor from the user's own settings: no module, no start-up
file. It leaves nothing behind, however it ends.
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

LONGEST = 600  # seconds that one cell may take
PYTHON = {"display_name": "Python 3", "language": "python", "name": "python3"}
_LAUNCH = ("-P", "-m", "ipykernel_launcher", "-f", "{connection_file}")
_ALONE = ("--InteractiveShellApp.ignore_cwd=True", "--HistoryManager.enabled=False")


def execute(books: "Mapping[str, NotebookNode]", folder: Path, *, longest: int = LONGEST) -> None:
    """Fill in the outputs of these notebooks, which have a name each, side by side, from within the folder. An error in a cell, or a cell
    that takes longer, raises `RuntimeError` with the notebook, the cell and what it said.
    """
    asyncio.run(_execute_all(books, folder, longest))


async def _execute_all(books: "Mapping[str, NotebookNode]", folder: Path, longest: int) -> None:
    tasks = [_execute(book, name, folder, longest) for name, book in books.items()]
    # each to its end, whatever becomes of the other: a kernel that is just starting cannot be stopped
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if outcome is not None:
            raise outcome


async def _execute(book: "NotebookNode", name: str, folder: Path, longest: int) -> None:
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, CellExecutionError, DeadKernelError

    with TemporaryDirectory(prefix="callmark-notebook-") as scratch:
        kernel = Path(scratch, "kernels", PYTHON["name"])
        kernel.mkdir(parents=True)
        spec = {"argv": [sys.executable, *_LAUNCH, *_ALONE], "env": {"IPYTHONDIR": scratch}, **PYTHON}
        Path(kernel, "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
        manager = AsyncKernelManager(
            kernel_name=PYTHON["name"],
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(kernel.parent)]),
            connection_file=str(Path(scratch, "connection.json")),
            transport="ipc",  # sockets in that folder, which nobody else may open: no port, no network
            ip=str(Path(scratch, "kernel")),
        )
        client = NotebookClient(book, km=manager, timeout=longest, record_timing=False)  # times would differ every time
        where = "at the start"
        try:
            await manager.start_kernel(cwd=str(folder))
            await client.async_start_new_kernel_client()
            for index, cell in enumerate(book.cells):
                where = f"cell {cell.id}"
                await client.async_execute_cell(cell, index, execution_count=client.code_cells_executed + 1)
        except (CellControlSignal, DeadKernelError) as error:
            said = f"{error.ename}: {error.evalue}" if isinstance(error, CellExecutionError) else str(error)
            raise RuntimeError(f"{name}, {where}: {said}") from error
        finally:
            if client.kc is not None:
                client.kc.stop_channels()
            if manager.has_kernel:
                await manager.shutdown_kernel(now=True)
