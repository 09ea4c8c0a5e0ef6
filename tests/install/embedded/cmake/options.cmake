# This project's module, with the name of one of Tarn's.
set(embedding_options_read ON)
