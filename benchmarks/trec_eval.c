/* The program trec_eval, around the functions of trec_eval that pytrec_eval's extension carries.

     trec_eval [-q] [-c] [-m MEASURE[.PARAMETERS]]... QRELS RUN

   The extension has everything of trec_eval 9 but its main(): readers, joining, measures, averages and printing. This
   is a main() that calls them in the order of the program. The records are laid out as in trec_eval.h of version 9;
   members that are only read or only passed on by the library stand here as numbers and plain pointers. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char *measure, *parameters; } Parameters;

typedef struct {
    long by_topic, summary, debug;
    char *debug_topic;
    long relational, complete, judged_only, documents, level, longest;
    char *qrels_format, *run_format;
    long zscores;
    Parameters *parameters;
} Settings;

typedef struct { char *name; double value; } Value;
typedef struct { char *topic; long topics; Value *values; long count, room; } Scores;
typedef struct { char *topic, *run, *format; void *rows; } Ranked;
typedef struct { long count, room; Ranked *topics; } AllRanked;
typedef struct { char *topic, *format; void *rows; } Judged;
typedef struct { long count, room; Judged *topics; } AllJudged;

typedef struct Measure {
    char *name, *explanation;
    int (*begin)(Settings *, struct Measure *, Scores *);
    int (*calculate)(const Settings *, const Judged *, const Ranked *, const struct Measure *, Scores *);
    int (*add)(const Settings *, const struct Measure *, const Scores *, Scores *);
    int (*average)(const Settings *, const struct Measure *, const AllJudged *, Scores *);
    int (*print)(const Settings *, const struct Measure *, const Scores *);
    int (*print_all)(const Settings *, struct Measure *, Scores *);
    void *defaults;
    long place; /* of its first value; -1: is not wanted, -2: is wanted */
} Measure;

typedef struct { char *name, **measures; } Nickname;

extern int te_num_trec_measures, te_num_trec_measure_nicknames;
extern Measure *te_trec_measures[];
extern Nickname te_trec_measure_nicknames[];
extern int te_get_qrels(Settings *, char *, AllJudged *);
extern int te_get_trec_results(Settings *, char *, AllRanked *);
extern int te_get_qrels_cleanup(void), te_get_trec_results_cleanup(void), te_form_res_rels_cleanup(void);

/* What the Python half of the extension refers to when it is loaded; nothing here calls it. */
char PyExc_TypeError[8], PyFloat_Type[1024], PySet_Type[1024], _Py_NoneStruct[64];

static void stop(const char *what, const char *which)
{
    fprintf(stderr, "trec_eval: %s '%s'\n", what, which);
    exit(1);
}

static void want_measure(const char *name)
{
    for (int m = 0; m < te_num_trec_measures; m++)
        if (!strcmp(name, te_trec_measures[m]->name)) {
            te_trec_measures[m]->place = -2;
            return;
        }
    stop("illegal measure", name);
}

/* Want a measure or all that a nickname stands for; what follows a dot goes to `parameters`. */
static int want(char *name, Parameters *parameters)
{
    char *dot = strchr(name, '.');
    if (dot) {
        *dot = '\0';
        *parameters = (Parameters){name, dot + 1};
    }
    for (int n = 0; n < te_num_trec_measure_nicknames; n++)
        if (!strcmp(name, te_trec_measure_nicknames[n].name)) {
            for (char **each = te_trec_measure_nicknames[n].measures; *each; each++)
                want_measure(*each);
            return dot != NULL;
        }
    want_measure(name);
    return dot != NULL;
}

/* Calculate, add up and perhaps print the wanted measures of one topic. */
static void score(const Settings *settings, Measure **wanted, const Judged *judged, const Ranked *ranked,
                  Scores *topic, Scores *all)
{
    for (long v = 0; v < topic->count; v++)
        topic->values[v].value = 0;
    topic->topic = ranked->topic;
    for (Measure **each = wanted; *each; each++)
        if ((*each)->calculate(settings, judged, ranked, *each, topic) == -1)
            stop("cannot calculate", (*each)->name);
    for (Measure **each = wanted; *each; each++) {
        (*each)->add(settings, *each, topic, all);
        if (settings->by_topic)
            (*each)->print(settings, *each, topic);
    }
    all->topics++;
}

int main(int count, char **words)
{
    Parameters *parameters = calloc(count + 1, sizeof *parameters);
    Settings settings = {.summary = 1, .relational = 1, .level = 1, .longest = LONG_MAX, .qrels_format = "qrels",
                         .run_format = "trec_results", .parameters = parameters};
    Measure **wanted = calloc(te_num_trec_measures + 1, sizeof *wanted), **next = wanted;
    AllJudged judged = {0};
    AllRanked ranked = {0};
    int at = 1;
    for (; at < count && words[at][0] == '-'; at++)
        switch (words[at][1]) {
        case 'q': settings.by_topic = 1; break;
        case 'c': settings.complete = 1; break;
        case 'm': parameters += want(words[++at], parameters); break;
        default: stop("unknown option", words[at]);
        }
    if (at + 2 != count)
        return 1;
    if (te_get_qrels(&settings, words[at], &judged) == -1 || te_get_trec_results(&settings, words[at + 1], &ranked) == -1)
        return 2;
    Scores all = {.topic = "all"}, topic = {0};
    for (int m = 0; m < te_num_trec_measures; m++)
        if (te_trec_measures[m]->place == -2) {
            *next++ = te_trec_measures[m];
            te_trec_measures[m]->begin(&settings, te_trec_measures[m], &all);
        }
    topic.count = all.count;
    topic.values = malloc(all.count * sizeof(Value));
    memcpy(topic.values, all.values, all.count * sizeof(Value));
    for (long r = 0; r < ranked.count; r++)
        for (long j = 0; j < judged.count; j++)
            if (!strcmp(ranked.topics[r].topic, judged.topics[j].topic)) {
                score(&settings, wanted, &judged.topics[j], &ranked.topics[r], &topic, &all);
                break;
            }
    for (Measure **each = wanted; *each; each++) {
        (*each)->average(&settings, *each, &judged, &all);
        (*each)->print_all(&settings, *each, &all);
    }
    te_get_qrels_cleanup();
    te_get_trec_results_cleanup();
    te_form_res_rels_cleanup();
    return 0;
}
