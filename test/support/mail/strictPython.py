"""Reads messages with Python's own parser, which raises on any defect.

Each line of the input is a message in base64; each line of the output is JSON: what it holds, or what is wrong.
"""
import base64
import email
import email.policy
import json
import sys

POLICY = email.policy.SMTP.clone(raise_on_defect=True)


def addresses(header):
    return [[one.display_name, one.addr_spec] for one in header.addresses] if header is not None else []


def own_header(message):
    value = message["X-Own"]
    # A first line that is empty leaves the blank of its fold: it belongs to no value (RFC 5322 §2.2.3).
    is_folded_first = dict(message.raw_items()).get("X-Own", "").startswith("\r\n ")
    return None if value is None else str(value)[1 if is_folded_first else 0 :]


def read(source):
    message = email.message_from_bytes(source, policy=POLICY)
    defects = [repr(defect) for part in message.walk() for defect in part.defects]
    for part in message.walk():
        for name in part.keys():
            defects += [f"{name}: {defect!r}" for defect in part[name].defects]
    for part in message.walk():
        if not part.is_multipart():
            part.get_content()
    return {
        "defects": defects,
        "from": addresses(message["From"]),
        "to": addresses(message["To"]),
        "reply_to": addresses(message["Reply-To"]),
        "subject": str(message["Subject"]),
        "own": own_header(message),
        "files": [part.get_filename() for part in message.walk() if part.get_filename() is not None],
    }


for line in sys.stdin:
    try:
        answer = read(base64.b64decode(line))
    except Exception as error:
        answer = {"defects": [repr(error)]}
    print(json.dumps(answer))
