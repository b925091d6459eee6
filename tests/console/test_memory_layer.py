"""The live layer of one process."""

import asyncio

from channels.layers import get_channel_layer

from console.live.memory_layer import MemoryLayer


async def joined(layer, group="g"):
    channel = await layer.new_channel()
    await layer.group_add(group, channel)
    return channel


def test_it_is_the_one_in_use_without_redis():
    assert isinstance(get_channel_layer(), MemoryLayer)


async def test_all_of_a_group_get_the_message_and_no_others():
    layer = MemoryLayer()
    mine = [await joined(layer) for _ in range(3)]
    other = await joined(layer, "h")
    await layer.group_send("g", {"type": "x", "n": 1})
    assert [await layer.receive(channel) for channel in mine] == [{"type": "x", "n": 1}] * 3
    assert other not in layer.channels


async def test_a_listener_that_does_not_listen_costs_the_others_nothing():
    layer = MemoryLayer(capacity=5)
    deaf, eager = await joined(layer), await joined(layer)
    heard = []

    async def listen():
        while len(heard) < 50:
            heard.append((await layer.receive(eager))["n"])

    listening = asyncio.create_task(listen())
    for n in range(50):
        await layer.group_send("g", {"type": "x", "n": n})
    await asyncio.wait_for(listening, 60)
    assert heard == list(range(50))
    assert layer.channels[deaf].qsize() == 5


async def test_what_nobody_fetched_for_a_minute_is_forgotten(monkeypatch):
    layer = MemoryLayer(expiry=-1)
    channel = await joined(layer)
    await layer.group_send("g", {"type": "x"})
    monkeypatch.setattr(layer, "swept_at", float("-inf"))
    await layer.group_send("h", {"type": "x"})
    assert channel not in layer.groups.get("g", {})
