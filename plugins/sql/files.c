/* Paths and errors of files. */
#include "sql.h"

#include <errno.h>
#include <string.h>
#include <wasi/api.h>

#define LONGEST_PATH 1024

/* Whether a path is a granted folder or lies in it, by its descriptor; false in `more` after the last one. */
static bool in_folder(__wasi_fd_t folder, pc_text path, bool *more) {
    __wasi_prestat_t is;
    *more = __wasi_fd_prestat_get(folder, &is) == 0;
    if (!*more || is.tag != __WASI_PREOPENTYPE_DIR) return false;
    size_t length = is.u.dir.pr_name_len;
    char *name = pc_alloc(length + 1);
    if (__wasi_fd_prestat_dir_name(folder, (uint8_t *)name, length) != 0) return false;
    while (length != 0 && (name[length - 1] == '/' || name[length - 1] == '\0')) length--;
    if (path.length < length || memcmp(path.at, name, length) != 0) return false;
    return path.length == length || path.at[length] == '/';
}

const pc_error *file_path(pc_text path, pc_text *plain) {
    if (path.length == 0 || path.at[0] != '/' || path.length > LONGEST_PATH || memchr(path.at, '\0', path.length) != NULL) {
        return pc_invalid("database: give the path of a file, such as `/data/shop.db`");
    }
    char *made = pc_alloc(path.length + 1);
    size_t length = 0;
    /* `.` and `..` by name, as the sandbox reads them. */
    for (size_t at = 0; at < path.length;) {
        size_t end = at + 1;
        while (end < path.length && path.at[end] != '/') end++;
        size_t part = end - at - 1;
        if (part == 2 && memcmp(path.at + at, "/..", 3) == 0) {
            if (length == 0) return pc_denied("filesystem", path);
            while (made[--length] != '/') {}
        } else if (part != 0 && !(part == 1 && path.at[at + 1] == '.')) {
            memcpy(made + length, path.at + at, part + 1);
            length += part + 1;
        }
        at = end;
    }
    made[length] = '\0';
    *plain = (pc_text){made, length};
    bool more = true;
    /* The first three are stdin, stdout and stderr. */
    for (__wasi_fd_t folder = 3; more; folder++) {
        if (in_folder(folder, *plain, &more)) return NULL;
    }
    return pc_denied("filesystem", path);
}

const pc_error *file_failed(pc_text path, int number) {
    switch (number) {
        case EPERM:
        case EROFS:
        case ENOTCAPABLE: return pc_denied("filesystem", path);
        case EACCES: return pc_failed("`%.*s`: the host's file permissions forbid it", PC_ARG(path));
        case ENOENT: return pc_failed("`%.*s` does not exist", PC_ARG(path));
        case EBADF: /* a granted folder itself */
        case EISDIR: return pc_failed("`%.*s` is a folder; name a file in it", PC_ARG(path));
        default: return pc_failed("`%.*s` cannot be opened: %s", PC_ARG(path), strerror(number));
    }
}
