package io.hearth.transport;

/** What a agent's thread does after a round without work. */
public interface IdleStrategy {

    /** @param idleRounds rounds without work before this one */
    void idle(Agent agent, long idleRounds);
}
