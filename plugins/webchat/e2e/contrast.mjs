// pale returns the texts of the page that have less contrast than 4.5 to 1.
export function pale() {
  const paint = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const channels = (color) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = color;
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
    return { rgb: [r, g, b], a: a / 255 };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!own || !element.checkVisibility({ opacityProperty: true }) || element.closest('.hidden, [disabled], noscript')) continue;
    let at = element;
    while (at && channels(getComputedStyle(at).backgroundColor).a < 1) at = at.parentElement;
    const [a, b] = [getComputedStyle(element).color, getComputedStyle(at ?? document.body).backgroundColor].map((color) => luminance(channels(color).rgb));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push(`${element.tagName}.${element.className}: ${contrast.toFixed(2)} ${element.textContent.slice(0, 30)}`);
  }
  return found;
}
