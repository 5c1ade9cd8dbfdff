package io.hearth.transport;

import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/** What a agent's thread does while there is nothing to do. */
public enum Idling implements IdleStrategy {
    /** Asks again at once: shortest latency, one CPU for each thread that has connections. */
    BUSY {
        @Override
        public void idle(Agent agent, long idleRounds) {
            if (agent.hot()) Thread.onSpinWait();
            else agent.await();
        }
    },
    /** Asks again at once, then after ever longer pauses of at most 100 us. */
    BACK_OFF {
        @Override
        public void idle(Agent agent, long idleRounds) {
            if (!agent.hot()) agent.await();
            else if (idleRounds < SPINS) Thread.onSpinWait();
            else if (idleRounds < SPINS + YIELDS) Thread.yield();
            else LockSupport.parkNanos(Math.min(MAX_PAUSE_NS, (idleRounds - SPINS - YIELDS) * 1_000));
        }
    },
    /** Sleeps until the kernel says that something has come. */
    EVENT {
        @Override
        public void idle(Agent agent, long idleRounds) {
            agent.await();
        }
    };

    /** @throws IllegalArgumentException where there is none of that name */
    public static Idling named(String name) {
        return Arrays.stream(values())
                .filter(one -> one.shown().equals(name.trim()))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("'" + name + "' is not one of event, back-off, busy"));
    }

    /** As users write it: {@code back-off}. */
    private String shown() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static final long SPINS = 2_000;
    private static final long YIELDS = 100;
    private static final long MAX_PAUSE_NS = 100_000;
}
