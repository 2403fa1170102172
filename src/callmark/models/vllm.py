"""Models served by vLLM: `vllm:NAME` on this machine, or `vllm:NAME@URL`."""

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.chat_provider import ChatProvider
from callmark.models.keys import Keys, mask_address, read_url
from callmark.models.provider import Spec


class VllmProvider(ChatProvider, frozen=True, kw_only=True):
    """vLLM: the spec may contain an address after an @."""

    def read(self, text: str, keys: Keys) -> Spec:
        """Parse a spec. A name and a password may contain an @ too, so the address starts at the first @http."""
        rest = self.name_in(text)
        if "@" not in rest:
            return super().read(text, keys)
        name, at, address = rest.partition("@http")
        name = scrub(name.strip())
        if not at or not name:
            missing = "a model name before" if at else "a URL that starts with http:// or https:// after"
            raise BadInput(f"expected {missing} the @, as in {self.example}, got {mask_address(f'{self.name}:{rest}', keys)}")
        address = f"http{address}"
        url = read_url(address, keys, where="the URL after the @", example=self.url)
        return Spec(self, name, address, keys.hide(f"{self.name}:{name}@{url.shown}"), url.secret)


PROVIDER = VllmProvider(
    name="vllm",
    example="vllm:NAME@http://localhost:8000/v1",
    url="http://localhost:8000/v1",
    key_variables=("VLLM_API_KEY",),
    needs_key=False,
    labels_by_name=True,
)
