import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

/** A program in a jar: sums in tasks, with a class of its own. */
public class Tiny {
  static final class Square implements java.io.Serializable {
    final int of;

    Square(int of) {
      this.of = of;
    }

    int value() {
      return of * of;
    }
  }

  public static void main(String[] args) {
    SparkSession spark = SparkSession.builder().appName("tiny").getOrCreate();
    JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
    List<Integer> numbers = IntStream.range(0, 8).boxed().collect(Collectors.toList());
    int sum = context.parallelize(numbers, 8).map(n -> new Square(n).value()).reduce(Integer::sum);
    System.out.println("RESULT {\"sum\": " + sum + "}");
    spark.stop();
  }
}
