import pytest

from agents import http
from tests.fake_model import FakeModelServer
from tests.nightly.browser.states import page_states


@pytest.fixture
def live_site(site, settings):
    """The site as a running server: with a worker, and its models are asked over the network."""
    with FakeModelServer(page_states.model_script()) as site.model, http.use(None):
        settings.PROVIDER_ADDRESSES = {"openai": site.model.url}
        page_states.prepare(site)
        with site.working():
            yield site
