import { createContext, useContext, useEffect, useState } from "react";
import type { ReadArgs, ReadName, ReadResult } from "../data-source.js";
import type { About, Server } from "./http-source.js";

interface StudioContext {
  readonly server: Server;
  readonly about: About;
}

export const Studio = createContext<StudioContext | undefined>(undefined);

/** The server, and what it said of itself. */
export function useStudio(): StudioContext {
  const found = useContext(Studio);
  if (found === undefined) throw new Error("There is no studio around this component");
  return found;
}

/** Names what the page shows in the title of its tab. */
export function useTitle(shown: string): void {
  const { title } = useStudio().about;
  useEffect(() => {
    document.title = [shown, title, "Stepwise"].filter(Boolean).join(" – ");
  }, [shown, title]);
}

/** Goes to a place once it is known, unless somebody has gone elsewhere by then. */
export async function goTo(place: Promise<string | undefined>): Promise<void> {
  const here = location.hash;
  const found = await place;
  if (found !== undefined && location.hash === here) location.hash = found;
}

/** What is known of something that is watched. After an error the last value stays. */
export interface Watched<Value> {
  readonly value?: Value;
  readonly error?: Error;
}

/** Watches for as long as the component is shown. */
export function useWatched<Name extends ReadName>(
  name: Name,
  args: ReadArgs<Name>,
): Watched<ReadResult<Name>> {
  const { server } = useStudio();
  const key = JSON.stringify([name, args]);
  const [watched, setWatched] = useState<{ key: string } & Watched<ReadResult<Name>>>({ key });
  useEffect(
    () =>
      server.watch(
        name,
        args,
        (value) => setWatched({ key, value }),
        (error) => setWatched((before) => ({ ...before, key, error })),
      ),
    // The arguments are the same while their text is.
    [server, key],
  );
  return watched.key === key ? watched : {};
}

/**
 * After a change, the shortest time in ms before something that costs more than a page is read
 * again.
 */
const PAUSE_MS = 5_000;

/**
 * Reads again some time after something has changed, or when `again` is called. What cannot be read
 * now keeps its value.
 */
export function useReadAgain<Name extends ReadName>(
  name: Name,
  args: ReadArgs<Name>,
): { value?: ReadResult<Name>; again: () => void } {
  const { server } = useStudio();
  const [value, setValue] = useState<ReadResult<Name>>();
  const [times, setTimes] = useState(0);
  const key = JSON.stringify([name, args]);
  useEffect(() => {
    let pause: ReturnType<typeof setTimeout> | undefined;
    // The page says elsewhere what is wrong.
    const read = () => void server.read(name, args).then(setValue, () => {});
    const changed = () => {
      pause ??= setTimeout(() => {
        pause = undefined;
        read();
      }, PAUSE_MS);
    };
    read();
    const stop = server.onChange(changed);
    return () => {
      stop();
      clearTimeout(pause);
    };
    // The arguments are the same while their text is.
  }, [server, key, times]);
  const again = () => setTimes((before) => before + 1);
  return value === undefined ? { again } : { value, again };
}
