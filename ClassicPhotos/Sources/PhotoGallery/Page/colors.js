// The colors of a photo that is not there yet: a picture of four by three pixels, which the browser
// enlarges to a soft gradient.

/// Paints colors into a canvas of four by three pixels, or hides it.
///
/// - cells: twelve colors in Base64, two bytes each, the most significant first, with 5 bits of
///   red, 6 of green and 5 of blue; undefined for none.
export function paintColors(canvas, cells) {
  if (canvas.dataset.cells === cells) return;
  canvas.hidden = !cells;
  if (!cells) return delete canvas.dataset.cells;
  canvas.dataset.cells = cells;
  const bytes = atob(cells);
  const { width, height } = canvas;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const image = context.createImageData(width, height);
  for (let cell = 0; cell < width * height; cell += 1) {
    const color = (bytes.charCodeAt(2 * cell) << 8) | bytes.charCodeAt(2 * cell + 1);
    const parts = [(color >> 11) / 31, ((color >> 5) & 63) / 63, (color & 31) / 31, 1];
    image.data.set(parts.map((part) => Math.round(255 * part)), 4 * cell);
  }
  context.putImageData(image, 0, 0);
}
