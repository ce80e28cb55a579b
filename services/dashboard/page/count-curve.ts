import uPlot from 'uplot';
import type { DashboardCluster } from '../../../schemas/reports/dashboard-clusters.ts';
import { timeTexts } from './curve.ts';

type Curves = DashboardCluster['curves'];

/** The numbers of objects in the form of the chart: times in seconds, and a curve for each kind. */
export const countData = ({ objects, kinds }: Curves): uPlot.AlignedData => [
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

const HEIGHT = 260;
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
      height: HEIGHT,
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
