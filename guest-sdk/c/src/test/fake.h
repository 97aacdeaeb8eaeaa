/* Between the files of the host of tests. */
#ifndef PORTCULLIS_FAKE_H
#define PORTCULLIS_FAKE_H

#include "../shared/host.h"
#include "portcullis/test.h"

/* The next reply of this kind for this name, which may be none; NULL if there is none. It is used up. */
const pc_reply *reply_for(pc_on on, pc_text of);
/* The same, without using it up. Without a name, any of this kind. */
const pc_reply *peek(pc_on on, pc_text of);
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

extern const pc_reply *replies_table;
extern size_t replies_count;
extern bool is_gone;
void begin_state(void);

#endif
