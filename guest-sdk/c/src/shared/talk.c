/* Conversations with a model. */
#include "portcullis.h"

/* Parts of one side after each other are one turn. */
static void add_part(pc_talk *talk, bool by_assistant, bool fresh, pc_part part) {
    if (fresh || talk->count == 0 || talk->turns[talk->count - 1].by_assistant != by_assistant) {
        talk->turns = pc_one_more(talk->turns, talk->count, sizeof *talk->turns);
        talk->turns[talk->count++] = (pc_turn){.by_assistant = by_assistant};
    }
    pc_turn *turn = &talk->turns[talk->count - 1];
    turn->parts = pc_one_more(turn->parts, turn->count, sizeof part);
    turn->parts[turn->count++] = part;
}

void pc_talk_user(pc_talk *talk, pc_content content) {
    add_part(talk, false, true, (pc_part){.content = content});
}

void pc_talk_assistant(pc_talk *talk, pc_content content) {
    add_part(talk, true, true, (pc_part){.content = content});
}

void pc_talk_outcome(pc_talk *talk, const pc_tool_use *use, pc_content content) {
    add_part(talk, false, false, (pc_part){PC_PART_OUTCOME, .content = content, .use = *use});
}

void pc_talk_failure(pc_talk *talk, const pc_tool_use *use, pc_text why) {
    add_part(talk, false, false, (pc_part){PC_PART_OUTCOME, .content = pc_words(why), .use = *use, .is_error = true});
}
