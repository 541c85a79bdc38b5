"""Model files that can be read without running code from the file.

Unpickling runs any code that the file contains, so load only pickles that you wrote yourself; a
pickle also does not say which version wrote it. The files here are those of `skops.io
<https://skops.readthedocs.io/en/stable/persistence.html>`_: arrays, numbers and text, and the
names of the classes they belong to, each of which is checked before an object is made. A
small header in JSON is stored in the same file; :func:`read_header` reads it without the model.

skops is optional: ``pip install skops``.
"""

from ._complete_file import complete_file
from ._model_files import load_model, read_header, require_skops, save_model, trusted_types

__all__ = ["load_model", "read_header", "save_model", "trusted_types"]
