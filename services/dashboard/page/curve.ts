import uPlot from 'uplot';
import type { DashboardNode } from '../../../schemas/reports/dashboard.ts';
import type { DashboardCluster } from '../../../schemas/reports/dashboard-clusters.ts';

/** The curves of a node in the form of the chart: times in seconds, and of each disk the least and the most, in percent. */
function curveData(disks: DashboardNode['disks']): uPlot.AlignedData {
  const times = [...new Set(disks.flatMap(({ points }) => points.map(([ms]) => ms)))].toSorted(
    (a, b) => a - b,
  );
  const series = disks.flatMap(({ points }) => {
    const at = new Map(points.map(([ms, least, most]) => [ms, [least / 10, most / 10] as const]));
    return [times.map((ms) => at.get(ms)?.[1] ?? null), times.map((ms) => at.get(ms)?.[0] ?? null)];
  });
  return [times.map((ms) => ms / 1000), ...series];
}

export interface CurveColours {
  readonly text: string;
  readonly line: string;
  readonly mark: string;
  readonly disks: readonly string[];
}

interface CurveSettings {
  readonly disks: DashboardNode['disks'];
  readonly removals: DashboardNode['removals'];
  readonly colours: CurveColours;
  readonly width: number;
}

const HEIGHT = 280;

/** How full each disk was, with a mark at each removal. */
export function drawCurve(place: HTMLElement, { disks, removals, colours, width }: CurveSettings): uPlot {
  const axis = {
    stroke: colours.text,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line },
  };
  return new uPlot(
    {
      width,
      height: HEIGHT,
      scales: { y: { range: [0, 100] } },
      axes: [
        { ...axis, values: timeTexts },
        { ...axis, values: (_, values) => values.map((value) => `${value} %`) },
      ],
      series: [
        {},
        ...disks.flatMap(({ filesystem }, index) =>
          seriesOf(filesystem, colours.disks[index] ?? colours.text),
        ),
      ],
      bands: disks.map((_, index) => ({
        series: [2 * index + 1, 2 * index + 2],
        fill: `color-mix(in srgb, ${colours.disks[index] ?? colours.text} 25%, transparent)`,
      })),
      legend: { show: false },
      hooks: { draw: [(plot) => markRemovals(plot, removals, colours.mark)] },
    },
    curveData(disks),
    place,
  );
}

/** In the reader's own form; a tick that begins a day says which. */
const timeTexts = (_: uPlot, seconds: readonly number[]): string[] =>
  seconds.map((at, index) => {
    const time = new Date(at * 1000);
    const isNewDay = index === 0 || time.getDate() !== new Date((seconds[index - 1] ?? at) * 1000).getDate();
    const clock = time.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
    return isNewDay ? `${clock}\n${time.toLocaleDateString(undefined, { dateStyle: 'short' })}` : clock;
  });

const seriesOf = (filesystem: string, stroke: string): uPlot.Series[] => [
  { label: `${filesystem}, most`, stroke, width: 2 },
  { label: `${filesystem}, least`, stroke, width: 1 },
];

/** A small triangle below the time of each. */
function markRemovals(
  { ctx, bbox, valToPos }: uPlot,
  removals: DashboardNode['removals'],
  colour: string,
): void {
  const size = 5 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = colour;
  for (const { atMs } of removals) {
    const x = valToPos(atMs / 1000, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    const y = bbox.top + bbox.height;
    ctx.beginPath();
    ctx.moveTo(x, y - 2 * size);
    ctx.lineTo(x - size, y);
    ctx.lineTo(x + size, y);
    ctx.fill();
  }
  ctx.restore();
}

type Curves = DashboardCluster['curves'];

/** The numbers of objects in the form of the chart: times in seconds, and a curve for each kind. */
const countData = ({ objects, kinds }: Curves): uPlot.AlignedData => [
  objects.map(([ms]) => ms / 1000),
  ...kinds.map(({ points }) => points.map(([, count]) => count)),
];

export interface CountColours {
  readonly text: string;
  readonly line: string;
  readonly kinds: readonly string[];
}

interface CountCurveSettings {
  readonly curves: Curves;
  readonly colours: CountColours;
  readonly width: number;
}

const COUNT_HEIGHT = 260;
const AXIS_WIDTH = 70;
/** With a single point there would be no axis. */
const LEAST_SECONDS = 3_600;

/** How many objects of each kind there were. */
export function drawCounts(place: HTMLElement, { curves, colours, width }: CountCurveSettings): uPlot {
  const axis = {
    stroke: colours.text,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line },
  };
  return new uPlot(
    {
      width,
      height: COUNT_HEIGHT,
      scales: {
        x: { range: (_, first, last) => [Math.min(first, last - LEAST_SECONDS), last] },
        y: { range: (_, __, most) => [0, Math.max(1, most * 1.05)] },
      },
      axes: [
        { ...axis, values: timeTexts },
        {
          ...axis,
          size: AXIS_WIDTH,
          values: (_, values) => values.map((value) => value.toLocaleString('en')),
        },
      ],
      series: [
        {},
        ...curves.kinds.map(({ kind }, index) => ({
          label: kind,
          stroke: colours.kinds[index] ?? colours.text,
          width: 2,
          points: { show: curves.objects.length < 30 },
        })),
      ],
      legend: { show: false },
    },
    countData(curves),
    place,
  );
}
