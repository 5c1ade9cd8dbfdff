/** In a jar that is added to the running application. */
public class Late {
  public static String word() {
    return "late";
  }
}
