"""Reading for others, over HTTP: pictures in; pages in any of our formats, or chat completions, out.

turns    one reading at a time, a bound on those that wait, a time limit
models   engine and detector, loaded once
upload   a request's bytes -> a picture, its lines, what is wanted
answers  what was read of a picture, as tokens
chat     OpenAI's chat completions, in and out
app      the addresses, and sentences for whatever is refused
run      a socket, a process, and its end
"""

from tongguocr.serve.run import Service, serve
from tongguocr.serve.turns import Bounds

__all__ = ["Bounds", "Service", "serve"]
