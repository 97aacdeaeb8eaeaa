/* Tests of what needs no host, and of the reader of JSON against damaged text. Compiled with the checks of memory. */
#include "portcullis/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void same(int line, pc_text found, const char *expected) {
    if (pc_is(found, expected)) return;
    fprintf(stderr, "line %d: %.*s\n   expected %s\n", line, PC_ARG(found), expected);
    failures++;
}
#define SAME(found, expected) same(__LINE__, found, expected)

static void check(int line, bool holds) {
    if (holds) return;
    fprintf(stderr, "line %d does not hold\n", line);
    failures++;
}
#define CHECK(holds) check(__LINE__, holds)

static pc_text again(const char *json) {
    pc_json value;
    const pc_error *wrong = pc_json_read(pc_of(json), &value);
    return wrong == NULL ? pc_json_write(&value) : wrong->text;
}

static void json(void) {
    SAME(again(" { \"a\" : [ 1 , -2.50e+3 , true , false , null ] , \"b\" : { } } "), "{\"a\":[1,-2.50e+3,true,false,null],\"b\":{}}");
    SAME(again("\"\\u00e4\\ud83d\\ude00\\n\\/\\u0001\""), "\"\xC3\xA4\xF0\x9F\x98\x80\\n/\\u0001\"");
    SAME(again("\"\xFF\""), "\"\xEF\xBF\xBD\"");
    SAME(again(""), "no JSON: expected a value at byte 0");
    SAME(again("[1,]"), "no JSON: expected a digit at byte 3");
    SAME(again("[1 2]"), "no JSON: expected `,` or `]` at byte 3");
    SAME(again("{\"a\" 1}"), "no JSON: expected `:` at byte 5");
    SAME(again("\"\\ud800\""), "no JSON: expected the second half of a pair of surrogates at byte 7");
    SAME(again("\"\\"), "no JSON: expected the end of a string at byte 1");
    SAME(again("01"), "no JSON: expected the end at byte 1");
    SAME(again("nul"), "no JSON: expected a value at byte 0");
    SAME(again("\"a\nb\""), "no JSON: expected no control character in a string at byte 2");
    static const char *const wrong[] = {"-", "1.", "1e", ".5", "+1", "'a'", "\"\\x\"", "\"\\u12g4\"", "\"\\udc00\"", "[", "{", "{\"a\":}", "tru", "1 1", "[1", "{1:2}", "\"", NULL};
    for (int i = 0; wrong[i] != NULL; i++) {
        pc_json value;
        const pc_error *error = pc_json_read(pc_of(wrong[i]), &value);
        if (error == NULL) fprintf(stderr, "%s was read\n", wrong[i]);
        CHECK(error != NULL && value.kind == PC_JSON_NULL);
    }
    char deep[258];
    memset(deep, '[', 128), memset(deep + 128, ']', 128), deep[256] = '\0';
    CHECK(again(deep).length == 256);
    memset(deep, '[', 257), deep[257] = '\0';
    SAME(again(deep), "no JSON: expected fewer values in each other at byte 128");
    pc_json twice;
    CHECK(pc_json_read(pc_of("{\"a\":1,\"a\":2}"), &twice) == NULL);
    SAME(pc_member(&twice, "a")->text, "2");
    CHECK(pc_member(&twice, "b")->kind == PC_JSON_NULL);
}

static void numbers(void) {
    static const struct { double number; const char *text; } written[] = {
        {0, "0.0"}, {3, "3.0"}, {0.1, "0.1"}, {3.5, "3.5"}, {1e300, "1e+300"}, {-1.0 / 3, "-0.3333333333333333"}, {0.30000000000000004, "0.30000000000000004"},
    };
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) SAME(pc_json_of_number(written[i].number).text, written[i].text);
    CHECK(pc_json_of_number(NAN).kind == PC_JSON_NULL && pc_json_of_number(-INFINITY).kind == PC_JSON_NULL);
    static const struct { const char *text; bool reads; int64_t integer; } read[] = {
        {"9223372036854775807", true, INT64_MAX}, {"-9223372036854775808", true, INT64_MIN}, {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0}, {"+7", true, 7}, {"", false, 0}, {"-", false, 0}, {"7a", false, 0}, {"1.0", false, 0},
    };
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        int64_t integer = 0;
        CHECK(pc_reads_integer(pc_of(read[i].text), &integer) == read[i].reads && integer == read[i].integer);
    }
    pc_json value = {.kind = PC_JSON_NUMBER, .text = pc_of("3.0")};
    int64_t integer;
    CHECK(pc_json_integer(&value, &integer) && integer == 3);
    value.text = pc_of("3.5");
    CHECK(!pc_json_integer(&value, &integer));
    value.text = pc_of("1e400");
    CHECK(!pc_json_integer(&value, &integer));
}

static void texts(void) {
    CHECK(pc_characters(pc_of("b\xC3\xA4r")) == 3);
    SAME(pc_upper(pc_of("a\xC3\xA4z1")), "A\xC3\xA4Z1");
    SAME(pc_valid((pc_text){"a\xC3", 2}), "a\xEF\xBF\xBD");
    SAME(pc_valid((pc_text){"\xED\xA0\x80", 3}), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    SAME(pc_valid((pc_text){"\xC0\x80", 2}), "\xEF\xBF\xBD\xEF\xBF\xBD");
    SAME(pc_valid((pc_text){"\xF4\x90\x80\x80", 4}), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    pc_text parts[] = {pc_of("a"), pc_of(""), pc_of("b")};
    SAME(pc_join(parts, 3, ", "), "a, , b");
    SAME(pc_join(NULL, 0, ", "), "");
    SAME(pc_or(PC_NONE, "x"), "x");
    CHECK(pc_or(pc_of(""), "x").length == 0);
    CHECK(pc_alloc(0) != NULL);
    char *large = pc_alloc(100000);
    CHECK(large[0] == 0 && large[99999] == 0);
    int *grown = NULL;
    for (int i = 0; i < 1000; i++) {
        grown = pc_one_more(grown, (size_t)i, sizeof *grown);
        grown[i] = i;
    }
    for (int i = 0; i < 1000; i++) CHECK(grown[i] == i);
    /* What was allocated at once may grow, too. */
    int *three = pc_alloc_items(3, sizeof *three);
    three = pc_one_more(three, 3, sizeof *three);
    three[3] = 4;
}

static void uris(void) {
    pc_text *variables;
    CHECK(pc_matches("test://t/{id}/data", pc_of("test://t/12%203/data"), &variables));
    SAME(variables[0], "12 3");
    static const char *const wrong[] = {"test://t//data", "test://t/1/2/data", "test://t/1/data/", "test://", "", "test://t/%/data", "test://t/%4/data", "test://t/%zz/data", "test://t/%C3/data"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK(!pc_matches("test://t/{id}/data", pc_of(wrong[i]), &variables));
    CHECK(pc_matches("a:{x}-{y}.md", pc_of("a:x-y-z.md.md"), &variables));
    SAME(variables[0], "x");
    SAME(variables[1], "y-z.md");
    CHECK(pc_matches("a:b", pc_of("a:b"), &variables) && !pc_matches("a:b", pc_of("a:bc"), &variables));
    CHECK(!pc_matches("a:{x", pc_of("a:b"), &variables));
}

typedef struct { int64_t x; pc_text label; } point;
static const pc_field point_fields[] = {{PC_INTEGER(point, x), .about = "Across."}, {PC_TEXT(point, label), PC_OPTIONAL}, PC_END};
static const pc_type point_type = PC_RECORDS(point, point_fields);
static const char *const colours[] = {"red", "green", NULL};
static const pc_type colour_type = PC_CHOICES(colours);
typedef struct {
    pc_text name;
    double scale;
    bool loud;
    int colour;
    const int64_t *age;
    const point *origin;
    PC_LIST(point) points;
    PC_MAP(bool) flags;
    PC_MAP(int) colours;
} all;
static const pc_field all_fields[] = {
    {PC_TEXT(all, name), PC_FROM(1), PC_UPTO(40)},
    {PC_NUMBER(all, scale), PC_ELSE_NUMBER(0.5), PC_FROM(0.25)},
    {PC_TRUTH(all, loud), PC_ELSE_TRUTH(true)},
    {PC_CHOICE(all, colour, colours), PC_ELSE_TEXT("green")},
    {PC_INTEGER(all, age), PC_OPTIONAL},
    {PC_RECORD(all, origin, point, point_fields), PC_OPTIONAL},
    {PC_LIST_OF(all, points, &point_type), PC_FROM(1)},
    {PC_MAP_OF(all, flags, &pc_truths)},
    {PC_MAP_OF(all, colours, &colour_type)},
    PC_END,
};

static pc_text refused(const char *json) {
    all record;
    const pc_error *wrong = pc_record_read(all_fields, &record, pc_of(json));
    return wrong == NULL ? pc_of("read") : wrong->text;
}

static void records(void) {
    all record;
    const char *full = "{\"name\":\"a\",\"scale\":2.5,\"loud\":false,\"colour\":\"red\",\"age\":7,\"origin\":{\"x\":1,\"label\":null},"
                       "\"points\":[{\"x\":1,\"label\":\"a\"},{\"x\":-2,\"label\":null}],\"flags\":{\"p\":true,\"q\":false},\"colours\":{\"r\":\"green\",\"s\":\"red\"}}";
    memset(&record, 0xAA, sizeof record);
    CHECK(pc_record_read(all_fields, &record, pc_of(full)) == NULL);
    CHECK(*record.age == 7 && record.points.at[1].x == -2 && record.flags.at[0].value && record.colours.at[0].value == 1);
    SAME(record.colours.at[1].name, "s");
    SAME(pc_record_write(all_fields, &record), full);
    const char *least = "{\"name\":\"\",\"points\":[],\"flags\":{},\"colours\":{},\"age\":null}";
    memset(&record, 0xAA, sizeof record);
    CHECK(pc_record_read(all_fields, &record, pc_of(least)) == NULL);
    CHECK(record.scale == 0.5 && record.loud && record.colour == 1 && record.age == NULL && record.origin == NULL && record.points.count == 0);
    SAME(refused("[]"), "is no object");
    SAME(refused("{"), "no JSON: expected a string at byte 1");
    SAME(refused("{}"), "`name` is missing");
    SAME(refused("{\"name\":1}"), "`name` is no text");
    SAME(refused("{\"name\":\"a\",\"scale\":\"b\"}"), "`scale` is no number");
    SAME(refused("{\"name\":\"a\",\"loud\":0}"), "`loud` is neither true nor false");
    SAME(refused("{\"name\":\"a\",\"colour\":\"blue\"}"), "`colour` is none of the words that it may be");
    SAME(refused("{\"name\":\"a\",\"age\":1.5}"), "`age` is no integer of 64 bits");
    SAME(refused("{\"name\":\"a\",\"points\":{}}"), "`points` is no list");
    SAME(refused("{\"name\":\"a\",\"points\":[{\"x\":1},{}]}"), "`points` [1] `x` is missing");
    SAME(refused("{\"name\":\"a\",\"points\":[],\"flags\":[]}"), "`flags` is no object");
}

static void schemas(void) {
    SAME(pc_input_schema(NULL), "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}");
    SAME(pc_plain_schema(NULL), "{\"type\":\"object\",\"properties\":{}}");
    SAME(pc_input_schema(all_fields),
         "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":40},"
         "\"scale\":{\"type\":\"number\",\"minimum\":0.25,\"default\":0.5},\"loud\":{\"type\":\"boolean\",\"default\":true},"
         "\"colour\":{\"type\":\"string\",\"enum\":[\"red\",\"green\"],\"default\":\"green\"},\"age\":{\"type\":[\"integer\",\"null\"]},"
         "\"origin\":{\"type\":[\"object\",\"null\"],\"properties\":{\"x\":{\"type\":\"integer\",\"description\":\"Across.\"},"
         "\"label\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"x\"]},"
         "\"points\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\",\"description\":\"Across.\"},"
         "\"label\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"x\"]},\"minItems\":1},"
         "\"flags\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"boolean\"}},"
         "\"colours\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\",\"enum\":[\"red\",\"green\"]}}},"
         "\"required\":[\"name\",\"points\",\"flags\",\"colours\"],\"additionalProperties\":false}");
    SAME(pc_output_schema(point_fields), "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\",\"description\":\"Across.\"},"
                                         "\"label\":{\"type\":[\"string\",\"null\"]}},\"required\":[\"x\",\"label\"]}");
    SAME(pc_form_schema(point_fields), "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\",\"description\":\"Across.\"},"
                                       "\"label\":{\"type\":\"string\"}},\"required\":[\"x\"]}");
}

/* Damages texts at random, always in the same way, and reads them: the checks of memory watch, and what is read must be read
 * again from what is written of it. */
static void damaged(void) {
    static const char *const seeds[] = {
        "{\"name\":\"a\\u00e4\\ud83d\\ude00\",\"points\":[{\"x\":1,\"label\":\"b\"}],\"flags\":{\"p\":true},\"colours\":{}}",
        "[[[[1,-2.5e-3,\"\\\\\\\"\"],null],{\"a\":{\"b\":[false]}}],\"\xC3\xA4\xF0\x9F\x98\x80\"]",
    };
    uint64_t random = 88172645463325252u;
    int read = 0;
    for (int round = 0; round < 300000; round++) {
        char text[256];
        const char *seed = seeds[round % 2];
        size_t length = strlen(seed);
        memcpy(text, seed, length);
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        for (uint64_t change = random; change != 0; change >>= 21) {
            size_t at = (size_t)(change >> 8) % length;
            static const char likely[] = "{}[]\",:\\u0-.eE";
            if (change & 1) text[at] = likely[(change >> 2) % (sizeof likely - 1)];
            else if (change & 2) text[at] = (char)(change >> 3);
            else length = at + 1;
        }
        /* On the heap, with its exact length, so that reading behind it is noticed. */
        char *exact = malloc(length);
        memcpy(exact, text, length);
        pc_json value, second;
        if (pc_json_read((pc_text){exact, length}, &value) == NULL) {
            pc_text written = pc_json_write(&value);
            CHECK(pc_json_read(written, &second) == NULL);
            CHECK(pc_is(written, pc_format("%.*s", PC_ARG(pc_json_write(&second))).at) || memchr(written.at, 0, written.length) != NULL);
            all record;
            pc_record_from(all_fields, &record, &value);
            read++;
        }
        free(exact);
    }
    CHECK(read > 100);
    fprintf(stderr, "%d of 300000 damaged texts were JSON\n", read);
}

int host_tests(void); /* host.c */

int main(void) {
    failures += host_tests();
    json();
    numbers();
    texts();
    uris();
    records();
    schemas();
    damaged();
    printf("guest-sdk/c: %s\n", failures == 0 ? "all tests passed" : "tests failed");
    return failures != 0;
}
