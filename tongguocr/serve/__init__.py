"""Reading for others, over HTTP: pictures or books in; pages in any of our formats, or completions, out.

queue          as many readings at a time as there are workers, a bound on those that wait, a time limit
models         engine and detector, loaded once; what they read, as a page or as tokens
workers        processes that each have such models
upload         a request's bytes -> a picture, its lines, options; or a job's file
bounded        files of strangers -> their pages, within bounds
chat           OpenAI's chat completions, in and out
jobs           books that are read page by page, in a folder that outlives the server
results        pages and jobs -> files
observe        metrics and a log
connections    time limits and a cap for connections
describe       what the addresses take and give, in words; docs_page shows it
state          what the addresses of a server share
read_addresses one picture in; job_addresses those of jobs; about_addresses tell of the server
app            all of them, and sentences for whatever is refused
run            a socket, processes, and their end
"""

from tongguocr.serve.queue import Bounds
from tongguocr.serve.run import Service, serve

__all__ = ["Bounds", "Service", "serve"]
