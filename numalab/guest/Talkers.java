import java.util.List;

/** Threads with names of Spark's and Hadoop's communication threads, and two others beside them. */
public final class Talkers {
  private Talkers() {}

  public static void main(String[] arguments) throws InterruptedException {
    for (int number = 0; number < 4; number++) {
      start("IPC Server handler " + number + " on default port 8020");
    }
    for (String name : List.of("Socket Reader #1", "rpc-server-1-1", "worker", "main-2")) {
      start(name);
    }
    System.out.println("ready");
    Thread.sleep(600_000);
  }

  private static void start(String name) {
    Thread thread =
        new Thread(
            () -> {
              try {
                Thread.sleep(600_000);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            },
            name);
    thread.setDaemon(true);
    thread.start();
  }
}
