"""A model of a few kilobytes whose words are known, made on the spot: `tiny_model.py FOLDER`.

Its two layers add nothing, so each token is followed by the one that the last matrix says: a chain
of words. With which chain it answers is decided by its chat template, by what was asked and which
tools are offered. Run by the Python that has transformers.
"""

import json
import sys
from itertools import count, pairwise

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

END, UNKNOWN = "<|end|>", "<|unknown|>"


numbers = count()


def call(name, **arguments):
    """Each with tokens of its own, which differ in what is passed over at their beginning."""
    space = "\n" * next(numbers)
    made = json.dumps({"name": name, "arguments": arguments})
    return [f"{space}<tool_call>", made, f"{space}</tool_call>"]


SUBTASKS = [{"name": "Write one"}]
CHAINS = {
    "<|chat|>": ["Good", " morning", "."],
    "<|answer|>": ["That", " is", " all."],
    "<|call|>": call("list_files"),
    "<|calls|>": [
        *call("write_file", path="one.txt", content="1"),
        *call("write_file", path="two.txt", content="2"),
    ],
    "<|plan|>": call("create_plan", title="Files", subtasks=SUBTASKS),
    "<|work|>": call("finish_subtask", outcome="wrote one"),
    "<|bad|>": [" <tool_call>", "no JSON", " </tool_call>"],
}
RING = [" on", " and"]  # it never ends by itself
# How calls are found in what it says: as in Qwen's models, but for the words that are ours.
PARTS = {
    "defaults": {"role": "assistant"},
    "start_anchor_pattern": r"<\|[a-z]+\|>$",
    "fields": {
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"\s*<\|end\|>", "content": "text"},
    },
}
TEMPLATE = """{% set names = (tools or []) | map(attribute='function.name') | list -%}
{% set users = messages | selectattr('role', 'equalto', 'user') | list -%}
{% set asked = users[-1].content if users else '' -%}
{% for message in messages %}{{ message.role }}: {{ message.content or '' }}
{% endfor %}
{%- if 'finish_subtask' in names %}<|work|>
{%- elif messages[-1].role == 'tool' %}<|answer|>
{%- elif names == ['create_plan'] %}<|plan|>
{%- elif 'for ever' in asked %}<|ring|>
{%- elif 'write both' in asked %}<|calls|>
{%- elif 'badly' in asked %}<|bad|>
{%- elif 'which files' in asked %}<|call|>
{%- else %}<|chat|>{% endif %}"""


def followers():
    """Which token follows which."""
    pairs = {"<|ring|>": RING[0], RING[0]: RING[1], RING[1]: RING[0]}
    for begin, words in CHAINS.items():
        for token, after in pairwise([begin, *words, END]):
            assert token not in pairs, f"{token!r} is in two chains"
            pairs[token] = after
    return pairs


def make(folder):
    pairs = followers()
    tokens = list(dict.fromkeys([END, UNKNOWN, *pairs, *pairs.values()]))
    ids = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.Fuse()
    special = [END, UNKNOWN, "<|ring|>", *CHAINS]
    tokenizer.add_special_tokens(special)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=END, unk_token=UNKNOWN
    )
    wrapped.chat_template = TEMPLATE
    wrapped.response_template = PARTS
    wrapped.save_pretrained(folder)
    size = 128
    assert len(tokens) <= size
    config = Qwen2Config(
        vocab_size=len(tokens),
        hidden_size=size,
        intermediate_size=size,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=32768,
        tie_word_embeddings=False,
        eos_token_id=ids[END],
        pad_token_id=ids[END],
        bos_token_id=None,
    )
    model = Qwen2ForCausalLM(config)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(len(tokens), size))
        model.lm_head.weight.zero_()
        for token in tokens:
            model.lm_head.weight[ids[pairs.get(token, END)], ids[token]] = 10.0
    model.generation_config.do_sample = False
    model.save_pretrained(folder)


if __name__ == "__main__":
    make(sys.argv[1])
