"""Models at any OpenAI-compatible address: `http://host:port/v1#NAME`."""

from callmark.calls.strict import scrub
from callmark.errors import BadInput
from callmark.models.chat_provider import ChatProvider
from callmark.models.keys import Keys, read_url
from callmark.models.provider import Spec


class AddressProvider(ChatProvider, frozen=True, kw_only=True):
    """A server, given by its address; the model name follows a #."""

    def read(self, text: str, keys: Keys) -> Spec:
        self.name_in(text)
        address, _, name = text.partition("#")
        url = read_url(address, keys, where="the URL", example=self.example)
        name = scrub(name.strip())
        if not name:
            raise BadInput(f"{keys.hide(url.shown)}: expected a model name after #, as in {self.example}")
        return Spec(self, name, address, keys.hide(f"{url.shown}#{name}"), url.secret)

    def spec_url_example(self) -> str:
        return self.url_example


PROVIDER = AddressProvider(
    name="http",
    example="http://localhost:8000/v1#NAME",
    url_example="http://localhost:8000/v1",
    key_variables=("CALLMARK_API_KEY",),
    needs_key=False,
    needs_name=False,
    labels_by_name=True,
)
