import type { Locator } from "playwright-core";

/** Returns how far the colour of a text is from what is behind it, from 1 to 21. */
export const contrastOf = async (text: Locator): Promise<number> =>
  await text.evaluate((element) => {
    const context = document.createElement("canvas").getContext("2d")!;
    const draw = (color: string) => {
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
    };
    const luminance = () => {
      const [r = 0, g = 0, b = 0] = [...context.getImageData(0, 0, 1, 1).data].map((each) => {
        const share = each / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const around: Element[] = [];
    for (let each: Element | null = element; each !== null; each = each.parentElement)
      around.unshift(each);
    // What is translucent lies on what is further out.
    for (const each of around) draw(getComputedStyle(each).backgroundColor);
    const behind = luminance();
    draw(getComputedStyle(element).color);
    const [low = 0, high = 0] = [luminance(), behind].toSorted((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  });
