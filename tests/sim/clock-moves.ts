import type { Deployment } from "@stepwise/testing";

/** A transaction commits up to so long after its time. */
export const LATE_MS = 60;

/** What the simulator asks of a deployment's clock, to which a transaction's time may be false. */
export type Clocked = Pick<Deployment, "clock" | "wall" | "jumps">;

const recent = ({ clock, jumps }: Clocked) => jumps.filter(({ at }) => clock.now() <= at + LATE_MS);

/** What commits now may have begun before the clock jumped: it has another time than its commit. */
export const isMoving = (deployment: Clocked): boolean => recent(deployment).length > 0;

/** The latest time that a transaction can have that commits now: the clock may have gone back. */
export function latestTime(deployment: Clocked): number {
  const now = deployment.clock.now();
  const ahead = recent(deployment).map(({ aheadMs }) => aheadMs);
  return Math.max(deployment.wall(), ...ahead.map((ms) => now + ms));
}
