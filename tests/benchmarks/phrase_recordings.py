"""Records the answers that the figures on phrases are measured with.

python -m tests.benchmarks.phrase_recordings NAME

The local model answers 60 customers three times, as it would in a live run. Two such recordings,
made one after the other, are in `tests/data/phrases`: what differs between them is chance.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anthropic

from evalnb.local import LocalTransport
from evalnb.names import LOCAL_MODEL

if TYPE_CHECKING:
    from anthropic.types import MessageParam

FOLDER = Path(__file__).parent.parent / "data" / "phrases"
REPEATS = 3

SYSTEM = (
    "You are the support assistant of Maplewood, an online shop. Answer in two short sentences. "
    "You cannot look anything up without the order number: always ask for the order number."
)

SHOTS: list[MessageParam] = [
    {"role": "user", "content": "My scarf has a hole."},
    {
        "role": "assistant",
        "content": "Sorry to hear about your scarf. Could you give me your order number? "
        "Then I can look into it.",
    },
    {"role": "user", "content": "Has my blanket left the warehouse?"},
    {
        "role": "assistant",
        "content": "Let me check that for you. Which order number is in your confirmation?",
    },
]

CUSTOMERS = (
    "Where is my parcel?",
    "My order has not arrived yet.",
    "The lamp arrived broken.",
    "I want to return my shoes.",
    "I was charged twice for the same order.",
    "Can I change the delivery address of my order?",
    "I would like to cancel my order.",
    "When will my order be delivered?",
    "One of the mugs is missing from my parcel.",
    "You sent me the wrong size.",
    "I have not received my refund.",
    "Can you send me the invoice for my order?",
    "My tracking link does not work.",
    "The courier says that my parcel was delivered, but I have nothing.",
    "The jacket has a stain.",
    "Can I still add a book to my order?",
    "I ordered the blue one and got the red one.",
    "How much did I pay for my last order?",
    "Has my order been sent?",
    "Please refund my last order.",
    "The kettle stopped working after a week.",
    "I need a copy of my receipt.",
    "My parcel is stuck at customs.",
    "The box was open when it arrived.",
    "I paid, but I got no confirmation.",
    "Can I pick my order up in the shop?",
    "Please deliver my order on Saturday instead.",
    "The boots are too small, can I exchange them?",
    "Which courier brings my order?",
    "I want to change the colour of the bag that I ordered.",
    "The discount was not taken off my order.",
    "I returned the coat two weeks ago, where is my money?",
    "Is my order still being packed?",
    "My neighbour took my parcel, and I cannot reach him.",
    "I used the wrong card for my order.",
    "The gift wrap is missing.",
    "I ordered twice by mistake.",
    "The table leg is scratched.",
    "Why is my order delayed?",
    "Can you check whether my return arrived?",
    "I would like to pay my order in instalments.",
    "The teapot leaks.",
    "I got an e-mail that my order was cancelled. Why?",
    "Please stop my delivery, I am on holiday.",
    "My order says delivered to a locker. Which one?",
    "I have lost the return label.",
    "The rug has the wrong length.",
    "May I swap one item of my order?",
    "Half of my order is missing.",
    "I want to complain about my delivery.",
    "The price on my invoice is wrong.",
    "Can I get my order faster?",
    "The phone case does not fit.",
    "My gift card was not used for my order.",
    "The parcel went back to you.",
    "I need to know what I ordered in May.",
    "The glass in the frame is cracked.",
    "Can somebody else receive my parcel?",
    "I never ordered this.",
    "Nobody answers my e-mails about my order.",
)


def main(name: str) -> None:
    """Record all answers, a line each: case, repeat and text."""
    client = anthropic.Anthropic(
        api_key="none",
        http_client=anthropic.DefaultHttpxClient(transport=cast("Any", LocalTransport())),
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for repeat in range(1, REPEATS + 1):
            for number, asked in enumerate(CUSTOMERS, 1):
                message = client.messages.create(
                    model=LOCAL_MODEL,
                    max_tokens=64,
                    system=SYSTEM,
                    messages=[*SHOTS, {"role": "user", "content": asked}],
                )
                text = "".join(block.text for block in message.content if block.type == "text")
                row = {"case_id": f"customer-{number:02}", "repeat": repeat, "text": text}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
