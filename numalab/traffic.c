/*
 * A TCG plug-in for QEMU 7.2 (plug-in API, version 1) that counts which node's memory a guest's data
 * accesses miss the cache into. Each vCPU has a small cache of its own; there is no coherence, and
 * neither instruction fetches nor page-table walks are seen.
 *
 *     -plugin libtraffic.so,board=FILE
 *
 * FILE is a `struct board` that the host maps: it writes `ranges` and `wanted`, and reads `active`
 * and the counters. Code is instrumented from when something is wanted first, so that the guest starts
 * at its usual speed; a plug-in can change that when a vCPU is idle only (qemu_plugin_reset). It stays
 * instrumented then: QEMU 7.2 may call back, after a reset, what the reset has freed.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The part of qemu-plugin.h that is used; Debian packages no header. */
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };
typedef void (*mem_cb)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data);
void qemu_plugin_reset(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t id));
void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, unsigned));
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, mem_cb cb,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void *data);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

/* numalab/traffic.py reads and writes these by their offsets: keep both alike. */
enum { VCPUS = 64, NODES = 8, LINE_BITS = 6, SETS = 1024, WAYS = 16 };

struct range {
    uint64_t from, to; /* of QEMU's addresses of RAM; empty: no such node */
};

struct counts {
    uint64_t accesses;
    uint64_t misses[2][NODES + 1]; /* by the user, by the kernel; last: of no node */
};

struct board {
    uint64_t wanted, active;
    struct range ranges[NODES];
    struct counts vcpus[VCPUS];
};

static struct board *board;
static uint64_t cache[VCPUS][SETS][WAYS]; /* lines, the latest first */

static bool is_wanted(void) { return __atomic_load_n(&board->wanted, __ATOMIC_RELAXED); }

static bool hit(uint64_t *ways, uint64_t line)
{
    int way = 0;
    while (way < WAYS && ways[way] != line) {
        way++;
    }
    bool found = way < WAYS;
    memmove(ways + 1, ways, (found ? way : WAYS - 1) * sizeof *ways);
    ways[0] = line;
    return found;
}

static int node_of(uint64_t address)
{
    for (int node = 0; node < NODES; node++) {
        if (address >= board->ranges[node].from && address < board->ranges[node].to) {
            return node;
        }
    }
    return NODES;
}

static void accessed(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    (void)data;
    if (!is_wanted()) {
        return;
    }
    struct qemu_plugin_hwaddr *place = qemu_plugin_get_hwaddr(info, address);
    if (vcpu >= VCPUS || !place || qemu_plugin_hwaddr_is_io(place)) {
        return;
    }
    uint64_t physical = qemu_plugin_hwaddr_phys_addr(place);
    uint64_t line = (physical >> LINE_BITS) + 1; /* 0: an empty way */
    struct counts *counts = &board->vcpus[vcpu];
    counts->accesses++;
    if (!hit(cache[vcpu][line % SETS], line)) {
        counts->misses[address >> 63][node_of(physical)]++;
    }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), accessed,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
    }
}

static void begin(qemu_plugin_id_t id)
{
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    __atomic_store_n(&board->active, 1, __ATOMIC_SEQ_CST);
}

static void idle(qemu_plugin_id_t id, unsigned vcpu)
{
    static bool asked;
    (void)vcpu;
    /* Several vCPUs may be idle at once: one of them resets. */
    if (is_wanted() && !__atomic_exchange_n(&asked, true, __ATOMIC_SEQ_CST)) {
        qemu_plugin_reset(id, begin);
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    static const char option[] = "board=";
    if (argc != 1 || strncmp(argv[0], option, sizeof option - 1) != 0) {
        fprintf(stderr, "traffic: give board=FILE\n");
        return 1;
    }
    int file = open(argv[0] + sizeof option - 1, O_RDWR);
    if (file < 0) {
        perror("traffic: board");
        return 1;
    }
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (board == MAP_FAILED) {
        perror("traffic: board");
        return 1;
    }
    qemu_plugin_register_vcpu_idle_cb(id, idle);
    return 0;
}
