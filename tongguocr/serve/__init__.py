"""Reading for others, over HTTP: pictures in; pages in any of our formats, or chat completions, out.

queue    one reading at a time, a bound on those that wait, a time limit
models   engine and detector, loaded once; what they read, as a page or as tokens
upload   a request's bytes -> a picture, its lines, options
chat     OpenAI's chat completions, in and out
app      the addresses, and sentences for whatever is refused
run      a socket, a process, and its end
"""

from tongguocr.serve.queue import Bounds
from tongguocr.serve.run import Service, serve

__all__ = ["Bounds", "Service", "serve"]
