import { useId, useMemo, type CSSProperties, type ReactNode } from "react";
import { badgesOfNodes, type StepsInside } from "./graph-badges.js";
import { layoutOf, type Layout, type PlanGraph, type Point } from "./layout.js";
import { shapeOf } from "./shapes.js";
import { badgeOf, type Step } from "./states.js";
import { STYLES } from "./styles.js";
import type { LiveRun } from "./use-run.js";
import { Zoomable } from "./zoomable.js";

export interface WorkflowGraphProps {
  /** What `workflow-codegen graph --format json` writes. */
  graph: PlanGraph;
  /** Which of its workflows. Default: the first. */
  workflow?: string;
  /** What `useRun` returns: the nodes that the run is at are coloured. */
  run?: LiveRun;
  /** The pages of `workflow.steps`: the nodes that the run has passed are coloured too. */
  steps?: readonly Step[];
  /**
   * The steps of the runs that a node has started for its branches, items or cases, a list for each
   * of all these runs. Default: what is inside such a node is shown by how many have ended.
   */
  inside?: StepsInside;
  /** The name of the graph for screen readers. Default: it names the workflow. */
  label?: string;
}

/** The plan of a workflow as a graph, coloured by the state of a run. */
export function WorkflowGraph({
  graph,
  workflow,
  run,
  steps = [],
  inside,
  label,
}: WorkflowGraphProps): ReactNode {
  const layout = useMemo(() => layoutOf(graph, workflow), [graph, workflow]);
  const names = layout.nodes.map(({ node }) => node.name);
  const badges = badgesOfNodes(names, run, steps, inside);
  return (
    <figure className="stepwise stepwise-graph">
      <style>{STYLES}</style>
      <Zoomable width={layout.width} first={layout.nodes[0]?.x ?? 0}>
        {(style) => (
          <GraphDrawing
            layout={layout}
            badges={badges}
            label={label ?? `Graph of ${layout.name}`}
            style={style}
          />
        )}
      </Zoomable>
      <ol className="stepwise-hidden">
        {layout.nodes.map(({ node: { name }, details }) => {
          const state = badges.size > 0 ? [(badges.get(name) ?? badgeOf(undefined)).label] : [];
          return <li key={name}>{`${name}: ${[...details, ...state].join(", ")}`}</li>;
        })}
      </ol>
    </figure>
  );
}

interface DrawingProps {
  layout: Layout;
  badges: ReturnType<typeof badgesOfNodes>;
  label: string;
  style: CSSProperties;
}

function GraphDrawing({ layout, badges, label, style }: DrawingProps) {
  const { width, height, nodes, frames, edges } = layout;
  const arrow = useId();
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      role="img"
      aria-label={label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      style={style}
    >
      <defs>
        <marker
          id={arrow}
          viewBox="0 0 8 8"
          refX="8"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          orient="auto"
        >
          <path className="stepwise-arrow" d="M0 0 8 4 0 8Z" />
        </marker>
      </defs>
      {frames.map(({ id, x, y, width: across, height: down }) => (
        <rect
          key={id}
          className="stepwise-frame"
          x={round(x - across / 2)}
          y={round(y - down / 2)}
          width={round(across)}
          height={round(down)}
          rx={8}
        />
      ))}
      {edges.map(({ points, label: when, x, y }, index) => (
        <g key={index}>
          <path className="stepwise-edge" d={curve(points)} markerEnd={`url(#${arrow})`} />
          {when !== undefined && (
            <text className="stepwise-detail" x={round(x)} y={round(y + 4)}>
              {when}
            </text>
          )}
        </g>
      ))}
      {nodes.map((place) => (
        <GraphNode key={place.node.name} place={place} badge={badges.get(place.node.name)} />
      ))}
    </svg>
  );
}

interface NodeProps {
  place: Layout["nodes"][number];
  badge: ReturnType<typeof badgeOf> | undefined;
}

function GraphNode({ place: { node, short, details, x, y, width, height }, badge }: NodeProps) {
  const { tone, sign, label } = badge ?? badgeOf(undefined);
  const top = -height / 2;
  const { outline } = shapeOf(node.shape);
  return (
    <g
      transform={`translate(${round(x)} ${round(y)})`}
      data-tone={tone}
      data-reached={badge && tone !== "idle" ? "" : undefined}
    >
      <title>{badge === undefined ? node.name : `${node.name}: ${label}`}</title>
      <path className="stepwise-shape" d={outline(round(width), round(height))} />
      <text y={round(top + 20)}>
        {sign !== "" && <tspan className="stepwise-sign">{sign} </tspan>}
        {short}
      </text>
      {details.map((line, index) => (
        <text key={index} className="stepwise-detail" y={round(top + 36 + index * 15)}>
          {line}
        </text>
      ))}
    </g>
  );
}

const round = (pixels: number): number => Math.round(pixels * 10) / 10;

/** How far from a corner a line begins to turn, in px. */
const TURN = 10;

/** A line through points, with its corners rounded. */
function curve(points: Layout["edges"][number]["points"]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let before = first;
  return rest.reduce(
    (path, point, index) => {
      const next = rest[index + 1];
      const [from, to] = [towards(point, before), next && towards(point, next)];
      before = point;
      return to === undefined
        ? `${path}L${at(point)}`
        : `${path}L${at(from)}Q${at(point)} ${at(to)}`;
    },
    `M${at(first)}`,
  );
}

const at = ({ x, y }: Point): string => `${round(x)} ${round(y)}`;

/** A little way from one point to another, at most half of it. */
function towards(point: Point, other: Point): Point {
  const [dx, dy] = [other.x - point.x, other.y - point.y];
  const part = Math.min(0.5, TURN / Math.hypot(dx, dy));
  return { x: point.x + dx * part, y: point.y + dy * part };
}
