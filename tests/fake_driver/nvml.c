/* A management library that stands for NVIDIA's: what no machine at hand can show. It is told what
 * to be by the file that FAKE_NVML names, read again ten times a second: lines of a word and a number.
 *   gpus 16         how many there are
 *   call_us 50000   how long each call takes
 *   lost 3          this GPU fell off the bus
 *   mig 2           this GPU is cut into two instances
 *   mismatch 1      the driver was replaced underneath
 *   pid 4242        a process that computes on every GPU
 * Figures move with time, so that a pane on them has something to draw. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, SMALL = 7, LOST = 15, MISMATCH = 18 };
typedef unsigned int u32;
typedef unsigned long long u64;
/* 1 + the GPU's number; with 100 * (1 + the instance's) added, an instance of it */
typedef size_t device;

static struct { u32 gpus, call_us, mismatch, pid; int lost, mig; } now;

static void read_script(void) {
    now.gpus = 0, now.call_us = 0, now.mismatch = 0, now.pid = 0, now.lost = -1, now.mig = -1;
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    char word[32];
    long number;
    while (file && fscanf(file, "%31s %ld", word, &number) == 2) {
        if (!strcmp(word, "gpus")) now.gpus = number;
        if (!strcmp(word, "call_us")) now.call_us = number;
        if (!strcmp(word, "lost")) now.lost = number;
        if (!strcmp(word, "mig")) now.mig = number;
        if (!strcmp(word, "mismatch")) now.mismatch = number;
        if (!strcmp(word, "pid")) now.pid = number;
    }
    if (file) fclose(file);
}

static int call(void) {
    static double read_at;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double at = t.tv_sec + t.tv_nsec / 1e9;
    if (at - read_at >= 0.1) read_script(), read_at = at;
    if (now.call_us) usleep(now.call_us);
    return now.mismatch ? MISMATCH : OK;
}

static int number(device d) { return (int)(d % 100) - 1; }
static int instance(device d) { return (int)(d / 100) - 1; }

static int on(device d) {
    int answer = call();
    if (answer) return answer;
    return number(d) == now.lost ? LOST : OK;
}

#define TELL(d, place, value) int answer = on(d); if (answer) return answer; *(place) = (value); return OK
#define TEXT(text, ...) int answer = on(d); if (answer) return answer; snprintf(text, size, __VA_ARGS__); return OK

static u32 wave(device d) { return (u32)((time(NULL) * 3 + number(d) * 17) % 101); }

int nvmlInit_v2(void) { return call(); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int error) { return error == MISMATCH ? "Driver/library version mismatch" : "an error"; }
int nvmlSystemGetDriverVersion(char *text, u32 size) { int answer = call(); snprintf(text, size, "580.95.05"); return answer; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return call(); }
int nvmlDeviceGetCount_v2(u32 *count) { int answer = call(); *count = now.gpus; return answer; }
int nvmlDeviceGetHandleByIndex_v2(u32 index, device *d) {
    int answer = call();
    if (answer) return answer;
    if (index >= now.gpus) return INVALID;
    *d = 1 + index;
    return (int)index == now.lost ? LOST : OK;
}
int nvmlDeviceGetUUID(device d, char *text, u32 size) {
    if (instance(d) >= 0) { TEXT(text, "MIG-%d%d", number(d), instance(d)); }
    TEXT(text, "GPU-fa0e-%04d", number(d));
}
int nvmlDeviceGetName(device d, char *text, u32 size) {
    if (instance(d) >= 0) { TEXT(text, "NVIDIA H200 MIG 3g.71gb"); }
    TEXT(text, "NVIDIA H200");
}
int nvmlDeviceGetMinorNumber(device d, u32 *minor) { TELL(d, minor, number(d)); }
int nvmlDeviceGetMigMode(device d, u32 *current, u32 *pending) {
    int answer = on(d);
    *current = *pending = instance(d) < 0 && number(d) == now.mig;
    return answer;
}
int nvmlDeviceGetMaxMigDeviceCount(device d, u32 *count) { TELL(d, count, 2); }
int nvmlDeviceGetMigDeviceHandleByIndex(device d, u32 index, device *part) {
    if (index > 1) return NOT_FOUND;
    TELL(d, part, d + 100 * (1 + index));
}
struct memory { u32 version; u64 total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(device d, struct memory *memory) {
    int answer = on(d);
    memory->total = (instance(d) < 0 ? 143771ULL : 71424ULL) << 20;
    memory->used = memory->total / 100 * wave(d);
    memory->free = memory->total - memory->used;
    return answer;
}
struct rates { u32 gpu, memory; };
int nvmlDeviceGetUtilizationRates(device d, struct rates *rates) {
    int answer = on(d);
    if (!answer && number(d) == now.mig) return NOT_SUPPORTED;
    rates->gpu = wave(d), rates->memory = wave(d) / 2;
    return answer;
}
int nvmlDeviceGetTemperature(device d, int sensor, u32 *c) { TELL(d, c, 40 + wave(d) / 2); }
int nvmlDeviceGetTemperatureThreshold(device d, int which, u32 *c) { TELL(d, c, which ? 92 : 95); }
int nvmlDeviceGetPowerUsage(device d, u32 *mw) { TELL(d, mw, 80000 + wave(d) * 6000); }
int nvmlDeviceGetEnforcedPowerLimit(device d, u32 *mw) { TELL(d, mw, 700000); }
int nvmlDeviceGetTotalEnergyConsumption(device d, u64 *mj) { TELL(d, mj, 4500000000ULL); }
int nvmlDeviceGetClockInfo(device d, int which, u32 *mhz) { TELL(d, mhz, which == 2 ? 3201 : 1755); }
int nvmlDeviceGetMaxClockInfo(device d, int which, u32 *mhz) { TELL(d, mhz, which == 2 ? 3201 : 1980); }
int nvmlDeviceGetPerformanceState(device d, int *state) { TELL(d, state, 0); }
int nvmlDeviceGetCurrentClocksThrottleReasons(device d, u64 *reasons) { TELL(d, reasons, wave(d) > 80 ? 4 : 0); }
int nvmlDeviceGetTotalEccErrors(device d, int kind, int counter, u64 *count) { TELL(d, count, 0); }
int nvmlDeviceGetComputeMode(device d, int *mode) { TELL(d, mode, 0); }
int nvmlDeviceGetPersistenceMode(device d, int *mode) { TELL(d, mode, 1); }
int nvmlDeviceGetCurrPcieLinkGeneration(device d, u32 *value) { TELL(d, value, 5); }
int nvmlDeviceGetCurrPcieLinkWidth(device d, u32 *value) { TELL(d, value, 16); }
int nvmlDeviceGetMaxPcieLinkGeneration(device d, u32 *value) { TELL(d, value, 5); }
int nvmlDeviceGetMaxPcieLinkWidth(device d, u32 *value) { TELL(d, value, 16); }
int nvmlDeviceGetPcieThroughput(device d, int way, u32 *kb) { TELL(d, kb, 1200000 / (1 + way)); }
int nvmlDeviceGetNvLinkState(device d, u32 link, int *up) { TELL(d, up, 1); }
struct process { u32 pid; u64 memory; u32 gpu_instance, compute_instance; };
int nvmlDeviceGetComputeRunningProcesses_v3(device d, u32 *count, struct process *list) {
    int answer = on(d);
    if (answer) return answer;
    /* of a GPU in instances, what is on the first of them */
    u32 there = now.pid && (number(d) != now.mig || instance(d) == 0);
    u32 room = *count;
    *count = there;
    if (room < there) return SMALL;
    if (there) list[0] = (struct process){ now.pid, 90112ULL << 20, ~0u, ~0u };
    return OK;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(device d, u32 *count, struct process *list) { TELL(d, count, 0); }
