"""What the assistant's context costs a model: `make bench-context`.

Each task of `tasks/` is a piece of work with a notebook or a project, in three parts: what the user has and does, how
the best model would work on it, and what must be true at the end. It runs through the real host with real kernels. Only
the model is played, by the task: it reads each request as the vendor's server gets it, and takes what it needs from
there. What a request does not tell, the model has to find out by a call, as a real one would. So a better view of the
notebook lowers the numbers, and a worse one raises them.

    python -m tests.bench.context              print the table, what has become worse than `figures.json`, and `goals`
    python -m tests.bench.context fix plan     only these tasks
    python -m tests.bench.context --renew      write the table anew
    python -m tests.bench.context --requests   also write each request to a folder

The columns are explained in `figures.py`. Below the table stands what must be reached, see `goals.py`: the command
fails if a figure is over its limit.
"""
