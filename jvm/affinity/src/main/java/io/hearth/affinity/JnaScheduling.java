package io.hearth.affinity;

import com.sun.jna.Function;
import com.sun.jna.LastErrorException;
import com.sun.jna.NativeLibrary;
import com.sun.jna.NativeLong;
import java.util.BitSet;
import java.util.Map;
import java.util.Optional;

/**
 * By JNA. The agent loads this class, and JNA with it, through a class loader of its own: the
 * application's JNA, of whatever version, and this one do not meet.
 */
public final class JnaScheduling implements Scheduling {
    private static final int ESRCH = 3;

    private final Function set;
    private final Function get;

    public JnaScheduling() {
        NativeLibrary libc = NativeLibrary.getInstance("c", Map.of());
        set = libc.getFunction("sched_setaffinity", Function.THROW_LAST_ERROR);
        get = libc.getFunction("sched_getaffinity", Function.THROW_LAST_ERROR);
    }

    /** Bit {@code id} of byte {@code id / 8}: the kernel's layout on little-endian machines. */
    @Override
    public int bind(int tid, BitSet cpus) {
        byte[] mask = new byte[MASK_BYTES];
        byte[] used = cpus.toByteArray();
        System.arraycopy(used, 0, mask, 0, used.length);
        try {
            set.invokeInt(new Object[] {tid, new NativeLong(mask.length), mask});
            return 0;
        } catch (LastErrorException e) {
            return e.getErrorCode();
        }
    }

    @Override
    public Optional<BitSet> mask(int tid) {
        byte[] mask = new byte[MASK_BYTES];
        try {
            get.invokeInt(new Object[] {tid, new NativeLong(mask.length), mask});
            return Optional.of(BitSet.valueOf(mask));
        } catch (LastErrorException e) {
            if (e.getErrorCode() == ESRCH) return Optional.empty();
            throw e;
        }
    }
}
