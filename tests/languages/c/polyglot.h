/* The plugin `polyglot`, as ../README.md specifies it: the tools of each file. */
#ifndef POLYGLOT_H
#define POLYGLOT_H

#include <portcullis.h>

typedef const pc_error *tool(const pc_call *call, const void *arguments, pc_result *result);

tool greet, measure, contents, context, stream, fail;     /* shapes.c */
tool order, confirm, complete, explain, interview, visit; /* asking.c */
tool delegate, gather, keep, fetch, account;              /* outside.c */
tool march, listen, budget;                               /* lasting.c */
tool leave, announce;                                     /* leaving.c */
tool files, variable;                                     /* files.c */
tool reserve;                                             /* doubt.c */

extern const pc_field greet_arguments[], measure_arguments[], measured_fields[], stream_arguments[], fail_arguments[];
extern const pc_field explain_arguments[], gather_arguments[], account_arguments[], leave_arguments[], announce_arguments[];
extern const pc_field files_arguments[], variable_arguments[], reserve_arguments[];
extern const pc_field complete_arguments[], delegate_arguments[], keep_arguments[], fetch_arguments[], fetched_fields[], march_arguments[];

typedef struct { pc_text name; int64_t times; int style; pc_text title; } greeting;
typedef struct { int64_t x, y; pc_text label; } point;
typedef struct { PC_LIST(point) points; PC_MAP(int64_t) weights; double scale; bool named; } measuring;
typedef struct { int64_t count; } counted;
typedef struct { int how; } failing;
typedef struct { pc_text question; } asking;
typedef struct { pc_text tool, path, n; } delegating;
typedef struct { int action; pc_text key, value; } keeping;
typedef struct { pc_text path, body; } fetching;
typedef struct { int64_t steps; } marching;
typedef struct { pc_text word; } explaining;
typedef struct { PC_LIST(pc_text) tools; } gathering;
typedef struct { int action; pc_text path, text; } leaving;
typedef struct { pc_text name, text, key; } announcing;
typedef struct { pc_text name; } named;

#endif
