package io.hearth.transport;

import java.util.function.Consumer;

/** Runs an agent until it is told to stop. */
final class AgentThread implements Runnable {
    private final Agent agent;
    private final IdleStrategy idling;
    private final Consumer<String> say;
    private final Thread thread;
    private volatile boolean stopped;
    private boolean started;

    /** @param name begins with {@code hearth-wire-}: so communication threads are recognised (affinity) */
    AgentThread(String name, Agent agent, IdleStrategy idling, Consumer<String> say) {
        this.agent = agent;
        this.idling = idling;
        this.say = say;
        this.thread = new Thread(this, name);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
        started = true;
    }

    @Override
    public void run() {
        boolean goesOn = true;
        while (goesOn && !stopped) {
            try {
                rounds();
            } catch (Throwable fault) { // an Error too: whoever hears of it in Spark ends the process
                goesOn = agent.survives(fault);
            }
        }
        shutDown();
    }

    private void shutDown() {
        try {
            agent.shutDown();
        } catch (Throwable fault) {
            say.accept(thread.getName() + " could not close everything: " + fault);
        }
    }

    private void rounds() {
        long idleRounds = 0;
        while (!stopped) {
            if (agent.doWork() > 0) idleRounds = 0;
            else idling.idle(agent, idleRounds++);
        }
    }

    boolean isCurrent() {
        return Thread.currentThread() == thread;
    }

    /** Ends the thread after its round, and waits for that unless it is the caller. */
    void stop() {
        stopped = true;
        if (!started) shutDown();
        agent.wake();
        boolean interrupted = false;
        while (!isCurrent() && thread.isAlive()) {
            try {
                thread.join(10);
                agent.wake();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) Thread.currentThread().interrupt();
    }
}
