import {
  useEffect,
  useRef,
  useState,
  type CSSProperties,
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  type UIEvent,
} from "react";

/** A drawing that is too wide is shown no smaller than so: its smallest text stays readable. */
const SMALLEST_FIT = 0.85;
const [SMALLEST, LARGEST] = [0.2, 4];
const STEP = 1.25;

/**
 * A drawing as wide as there is room for, and larger or smaller by buttons, by keys, and by the
 * wheel with Ctrl. What does not fit is scrolled to, or dragged.
 */
export function Zoomable(props: {
  /** The size of the drawing, in px, before it is zoomed. */
  width: number;
  /** What of its width is shown first, if there is no room for all. */
  first: number;
  children: (style: CSSProperties) => ReactNode;
}): ReactNode {
  const { width, first, children } = props;
  const view = useRef<HTMLDivElement>(null);
  /** Undefined while it is as wide as there is room for. */
  const [zoom, setZoom] = useState<number>();
  /** What part of the drawing is in the middle. */
  const middle = useRef({ x: first / width, y: 0 });
  /** Where it was scrolled to for that. */
  const placed = useRef({ left: 0, top: 0 });
  const look = (element: HTMLDivElement) => {
    const { scrollLeft, scrollTop, scrollWidth, scrollHeight, clientWidth, clientHeight } = element;
    middle.current = {
      x: (scrollLeft + clientWidth / 2) / scrollWidth,
      y: (scrollTop + clientHeight / 2) / scrollHeight,
    };
  };
  const place = () => {
    const element = view.current;
    if (element === null) return;
    element.scrollLeft = middle.current.x * element.scrollWidth - element.clientWidth / 2;
    element.scrollTop = middle.current.y * element.scrollHeight - element.clientHeight / 2;
    placed.current = { left: element.scrollLeft, top: element.scrollTop };
  };
  const scrolled = ({ currentTarget: element }: UIEvent<HTMLDivElement>) => {
    const { left, top } = placed.current;
    if (element.scrollLeft !== left || element.scrollTop !== top) look(element);
  };
  const zoomBy = (factor: number) => {
    const element = view.current;
    if (element === null) return;
    look(element);
    setZoom((now) => {
      const shown = now ?? (element.querySelector("svg")?.clientWidth ?? width) / width;
      return Math.min(LARGEST, Math.max(SMALLEST, shown * factor));
    });
  };
  useEffect(place, [zoom]);
  useEffect(() => {
    if (view.current === null) return;
    const resized = new ResizeObserver(place);
    resized.observe(view.current);
    return () => resized.disconnect();
  }, []);
  useEffect(() => {
    const element = view.current;
    const turned = (event: WheelEvent) => {
      if (!event.ctrlKey) return;
      // Else the browser zooms its page.
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 300));
    };
    element?.addEventListener("wheel", turned, { passive: false });
    return () => element?.removeEventListener("wheel", turned);
  });
  const fit = () => setZoom(undefined);
  const pressed = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
    if (ctrlKey || metaKey || altKey) return;
    if (key === "+" || key === "=") zoomBy(STEP);
    if (key === "-") zoomBy(1 / STEP);
    if (key === "0") fit();
  };
  const dragged = ({ pointerType, buttons, movementX, movementY }: PointerEvent) => {
    // A finger scrolls it already.
    if (pointerType === "mouse" && buttons === 1) view.current?.scrollBy(-movementX, -movementY);
  };
  const inlineSize =
    zoom === undefined ? `clamp(${width * SMALLEST_FIT}px, 100%, ${width}px)` : `${width * zoom}px`;
  return (
    <>
      <div className="stepwise-zoom">
        <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomBy(STEP)}>
          +
        </button>
        <button
          type="button"
          aria-label="Zoom out"
          title="Zoom out (-)"
          onClick={() => zoomBy(1 / STEP)}
        >
          −
        </button>
        <button type="button" title="Fit to the width (0)" onClick={fit}>
          Fit
        </button>
      </div>
      <div
        ref={view}
        className="stepwise-view"
        role="group"
        aria-label="Graph: zoom with + and -, move with the arrow keys"
        tabIndex={0}
        onKeyDown={pressed}
        onPointerMove={dragged}
        onScroll={scrolled}
      >
        {children({ inlineSize })}
      </div>
    </>
  );
}
