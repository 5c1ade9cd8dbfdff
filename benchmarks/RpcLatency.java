import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Calls of a NameNode, one after the other: microseconds of each, the first half dropped. */
public final class RpcLatency {
  private RpcLatency() {}

  public static void main(String[] arguments) throws IOException {
    int calls = Integer.parseInt(arguments[0]);
    Path root = new Path("/");
    try (FileSystem files = FileSystem.get(new Configuration())) {
      for (int call = 0; call < calls; call++) {
        files.getFileStatus(root);
      }
      double[] microseconds = new double[calls];
      for (int call = 0; call < calls; call++) {
        long began = System.nanoTime();
        files.getFileStatus(root);
        microseconds[call] = (System.nanoTime() - began) / 1e3;
      }
      Arrays.sort(microseconds);
      double mean = Arrays.stream(microseconds).average().orElseThrow();
      System.out.printf(
          "%.2f %.2f %.2f%n",
          microseconds[calls / 2], microseconds[(int) (calls * 0.99)], mean);
    }
  }
}
