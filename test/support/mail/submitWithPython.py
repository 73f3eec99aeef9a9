"""Sends mails as Python's own library does: python3 submitWithPython.py PORT KEY FROM. Prints the replies as JSON."""
import json
import smtplib
import sys
from email.message import EmailMessage
from email.mime.image import MIMEImage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import make_msgid

port, key, sender = int(sys.argv[1]), sys.argv[2], sys.argv[3]
PNG = sys.stdin.buffer.read()


def modern():
    message = EmailMessage()
    message["From"] = sender
    message["To"] = "Ana Größe <ana@example.com>"
    message["Subject"] = "Grüße aus Köln — 你好"
    message.set_content("Zwölf Boxkämpfer\n.\nEnde\n")
    cid = make_msgid()
    message.add_alternative(f'<p>Zwölf</p><img src="cid:{cid[1:-1]}">', subtype="html")
    message.get_payload()[1].add_related(PNG, "image", "png", cid=cid)
    message.add_attachment("Spalte;Wert\r\n".encode(), maintype="application", subtype="octet-stream", filename="Übersicht.csv")
    return message


def legacy():
    message = MIMEMultipart("related")
    message["From"] = sender
    message["To"] = "ana@example.com"
    message["Subject"] = "Legacy"
    message.attach(MIMEText("<p>Hällo</p>", "html", "iso-8859-1"))
    image = MIMEImage(PNG, name="logo.png")
    image.add_header("Content-ID", "<logo>")
    message.attach(image)
    return message


class Recording(smtplib.SMTP):
    """Keeps the reply to the content, which the library itself throws away."""

    def data(self, content):
        self.answer = super().data(content)
        return self.answer


replies = {}
with Recording("127.0.0.1", port) as client:
    client.login("any", key)
    for make in (modern, legacy):
        client.send_message(make())
        replies[make.__name__] = f"{client.answer[0]} {client.answer[1].decode()}"
print(json.dumps(replies))
