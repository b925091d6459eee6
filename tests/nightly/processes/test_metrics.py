"""What a real server tells in /metrics."""

import httpx
import pytest

from tests.console.serving import Started
from tests.console.test_metrics import read

pytestmark = pytest.mark.django_db(transaction=True)


class TestARealServer:
    @pytest.fixture
    def server(self, tmp_path):
        running = Started(tmp_path / "home")
        yield running
        running.process.kill()
        running.process.communicate()

    def test_memory_lag_and_open_sockets_are_told(self, server):
        found = read(httpx.get(f"{server.address}/metrics").text)
        assert found[("process_resident_memory_bytes",)] > 10_000_000
        assert 0 <= found[("planside_loop_lag_seconds",)] < 2
        assert found[("planside_open_sockets",)] == 0

    def test_where_it_is_open_a_strange_name_is_refused_with_any_token(self, server):
        """A page whose own name leads here must not read it."""
        strange = {"Host": "evil.example", "Authorization": "Bearer anything"}
        assert httpx.get(f"{server.address}/metrics", headers=strange).status_code == 400
