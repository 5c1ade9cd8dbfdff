package io.hearth.affinity;

import java.util.BitSet;
import java.util.Optional;

/** CPU masks of threads, by the kernel: sched_setaffinity(2), sched_getaffinity(2). */
public interface Scheduling {

    /** Bits of a mask: more than any kernel's NR_CPUS. */
    int MASK_BYTES = 8192;

    /** @return the error number of the kernel; 0 where it was done, 3 (ESRCH) where the thread has ended */
    int bind(int tid, BitSet cpus);

    /** @return absent where the thread has ended */
    Optional<BitSet> mask(int tid);
}
