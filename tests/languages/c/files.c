/* Files and variables, as the C library has them. */
#include "polyglot.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITE, READ, LIST };
static const char *const deeds[] = {"write", "read", "list", NULL};
const pc_field files_arguments[] = {
    {PC_CHOICE(leaving, action, deeds)},
    {PC_TEXT(leaving, path)},
    {PC_TEXT(leaving, text), PC_OPTIONAL},
    PC_END,
};

static const pc_error *write_file(const char *path, pc_text text) {
    FILE *file = fopen(path, "wb");
    if (file == NULL) return pc_failed("%s: %s", path, strerror(errno));
    bool is_written = fwrite(text.at, 1, text.length, file) == text.length;
    if (fclose(file) != 0 || !is_written) return pc_failed("%s: %s", path, strerror(errno));
    return NULL;
}

static const pc_error *read_file(const char *path, pc_text *text) {
    FILE *file = fopen(path, "rb");
    if (file == NULL && errno == ENOENT) return NULL;
    if (file == NULL) return pc_failed("%s: %s", path, strerror(errno));
    char *bytes = pc_alloc(1);
    size_t length = 0;
    for (int byte; (byte = fgetc(file)) != EOF; length++) {
        bytes = pc_one_more(length == 0 ? NULL : bytes, length, 1);
        bytes[length] = (char)byte;
    }
    *text = pc_valid((pc_text){bytes, length});
    bool is_read = !ferror(file);
    fclose(file);
    return is_read ? NULL : pc_failed("%s: it cannot be read", path);
}

static int compared(const void *one, const void *other) {
    return strcmp(((const pc_text *)one)->at, ((const pc_text *)other)->at);
}

static const pc_error *list_folder(const char *path, pc_text *names) {
    DIR *folder = opendir(path);
    if (folder == NULL) return pc_failed("%s: %s", path, strerror(errno));
    pc_text *found = NULL;
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        found = pc_one_more(found, count, sizeof *found);
        found[count++] = pc_format("%s", entry->d_name);
    }
    closedir(folder);
    if (count > 0) qsort(found, count, sizeof *found, compared);
    *names = pc_join(found, count, ", ");
    return NULL;
}

const pc_error *files(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const leaving *asked = arguments;
    const char *path = pc_format("%.*s", PC_ARG(asked->path)).at;
    pc_text said = pc_of("nothing");
    switch (asked->action) {
        case WRITE:
            PC_TRY(write_file(path, pc_or(asked->text, "")));
            said = pc_of("written");
            break;
        case READ: PC_TRY(read_file(path, &said)); break;
        default: PC_TRY(list_folder(path, &said));
    }
    pc_say(result, said);
    return NULL;
}

const pc_field variable_arguments[] = {{PC_TEXT(named, name)}, PC_END};

const pc_error *variable(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const named *asked = arguments;
    const char *value = getenv(pc_format("%.*s", PC_ARG(asked->name)).at);
    pc_say(result, pc_of(value == NULL ? "nothing" : value));
    return NULL;
}
