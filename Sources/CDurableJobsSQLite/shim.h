// SQLite's library in C, which the system has.
#include <sqlite3.h>
