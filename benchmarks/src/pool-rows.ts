import type { PoolMeasurement } from "./measure-pool.js";
import { MORE_SCENES, POOL_SCENES, STUCK_SCENES } from "./scenes.js";
import type { Row } from "./table.js";

type Both = Readonly<Record<"ours" | "peer", PoolMeasurement>>;

/** What a work takes. */
export async function workRows({ ours, peer }: Both): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { title, works } of POOL_SCENES)
    rows.push({
      title,
      n: works.count ?? 1,
      ours: await ours.work(works),
      peer: await peer.work(works),
    });
  for (const { title, works } of MORE_SCENES)
    rows.push({ title, n: 1, ours: await ours.more(works, {}), peer: await peer.more(works, {}) });
  return rows;
}

/** What a pool does in some stretch of time. */
export async function stretchRows({ ours, peer }: Both): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { title, maxParallelism } of STUCK_SCENES)
    rows.push({
      title,
      n: 20,
      ours: await ours.stuck(maxParallelism),
      peer: await peer.stuck(maxParallelism),
    });
  const [oursIdle, peerIdle] = [await ours.idle(), await peer.idle()];
  rows.push({
    title: "idle, the hour after a burst",
    n: 100,
    ours: oursIdle[0],
    peer: peerIdle[0],
  });
  rows.push({ title: "… the hour after that", n: 100, ours: oursIdle[1], peer: peerIdle[1] });
  return rows;
}
