import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function0;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * Rounds of one kind of work, forever alike: `Traffic scan|shuffle PARTITIONS MEGABYTES SECONDS`.
 *
 * <p>scan reads points that are cached as objects in the heap (an iteration of K-Means); shuffle sorts
 * records into other partitions (a sort). Warms up, then works for SECONDS and for SECONDS again.
 */
public final class Traffic {

  private static final int WARM_ROUNDS = 3;
  private static final int POINT_LENGTH = 1024;

  public static void main(String[] words) throws Exception {
    int partitions = Integer.parseInt(words[1]);
    int points = Integer.parseInt(words[2]) * (1 << 20) / (POINT_LENGTH * Double.BYTES);
    long seconds = Long.parseLong(words[3]);
    try (JavaSparkContext context = new JavaSparkContext(new SparkConf().setAppName(words[0]))) {
      JavaRDD<double[]> made = points(context, partitions, points);
      Function0<Double> round = words[0].equals("scan") ? scan(made) : shuffle(made, partitions);
      double answer = round.call();
      for (int i = 1; i < WARM_ROUNDS; i++) check(answer, round.call());
      System.out.println("traffic: warm " + context.sc().applicationId());
      rounds(round, answer, seconds);
      System.out.println("traffic: counting");
      System.out.println("traffic: counted " + rounds(round, answer, seconds));
    }
  }

  private static int rounds(Function0<Double> round, double answer, long seconds) throws Exception {
    long end = System.nanoTime() + seconds * 1_000_000_000L;
    int done = 0;
    for (; System.nanoTime() < end; done++) check(answer, round.call());
    return done;
  }

  private static void check(double first, double now) {
    if (Math.abs(first - now) > 1e-6 * Math.abs(first))
      throw new IllegalStateException(first + " became " + now);
  }

  private static JavaRDD<double[]> points(JavaSparkContext context, int partitions, int each) {
    List<Integer> seeds = new ArrayList<>();
    for (int i = 0; i < partitions; i++) seeds.add(i);
    return context
        .parallelize(seeds, partitions)
        .flatMap(
            seed -> {
              SplittableRandom random = new SplittableRandom(seed);
              List<double[]> made = new ArrayList<>(each);
              for (int i = 0; i < each; i++) {
                double[] point = new double[POINT_LENGTH];
                for (int d = 0; d < POINT_LENGTH; d++) point[d] = random.nextInt(1000);
                made.add(point);
              }
              return made.iterator();
            });
  }

  private static Function0<Double> scan(JavaRDD<double[]> made) {
    JavaRDD<double[]> points = made.persist(StorageLevel.MEMORY_ONLY());
    return () -> points.map(Traffic::sum).reduce(Double::sum);
  }

  private static Function0<Double> shuffle(JavaRDD<double[]> made, int partitions) {
    JavaRDD<double[]> points = made.persist(StorageLevel.MEMORY_ONLY());
    return () -> {
      JavaPairRDD<Integer, double[]> keyed =
          points.mapToPair(point -> new Tuple2<>((int) point[0], point));
      return keyed
          .partitionBy(new HashPartitioner(partitions))
          .map(pair -> sum(pair._2()))
          .reduce(Double::sum);
    };
  }

  private static double sum(double[] point) {
    double total = 0;
    for (double value : point) total += value;
    return total;
  }
}
