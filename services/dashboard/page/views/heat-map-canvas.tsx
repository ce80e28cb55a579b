import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { DashboardFleet } from '../../../../schemas/reports/dashboard.ts';
import { go, nodeAddress } from '../addresses.ts';
import { layOut, nodeAt } from '../heat-map.ts';
import { countSigned } from '../node-signs.ts';
import { type Colours, paint } from '../paint-heat-map.ts';
import { countText, stateText, usedText } from '../texts.ts';
import { themeColours, useTheme } from '../theme.ts';

/** Every node at once. A screen reader gets the sums, and the table below has every node. */
export function HeatMap({ fleet }: { readonly fleet: DashboardFleet }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [pointed, setPointed] = useState<number | null>(null);
  const theme = useTheme(readColours);
  const layout = useMemo(() => layOut(fleet, width), [fleet, width]);
  useEffect(() => {
    if (canvas.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(canvas.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!canvas.current || !context || width === 0) return;
    const scale = devicePixelRatio;
    canvas.current.width = width * scale;
    canvas.current.height = layout.height * scale;
    canvas.current.style.height = `${layout.height}px`;
    context.scale(scale, scale);
    paint(context, fleet, layout, theme);
  }, [fleet, layout, width, theme]);
  const find = ({ offsetX, offsetY }: MouseEvent): number | null => nodeAt(layout, offsetX, offsetY);
  return (
    <>
      <p class="quiet" aria-hidden="true">
        {pointed === null
          ? 'Point at a node to see which it is; click to look at it.'
          : nodeText(fleet, pointed)}
      </p>
      <canvas
        ref={canvas}
        role="img"
        aria-label={summary(fleet)}
        onMouseMove={(event) => setPointed(find(event))}
        onMouseLeave={() => setPointed(null)}
        onClick={(event) => open(fleet, find(event))}
      />
    </>
  );
}

function open({ columns, clusters }: DashboardFleet, position: number | null): void {
  if (position === null) return;
  go(nodeAddress(clusters[columns.cluster[position] ?? 0] ?? '', columns.node[position] ?? ''));
}

function nodeText({ columns, clusters }: DashboardFleet, position: number): string {
  const cluster = clusters[columns.cluster[position] ?? 0];
  return `${cluster}/${columns.node[position]}: ${usedText(columns.used[position] ?? null)} used, ${stateText(columns, position)}`;
}

function summary({ columns }: DashboardFleet): string {
  const { node, used, state } = columns;
  const full = used.filter((percent) => percent !== null && percent >= 90).length;
  const silent = state.filter((each) => each === 'silent').length;
  return `Disk use of ${countText(node.length)} nodes: ${countText(full)} use 90 percent or more, ${countText(silent)} are silent, ${countText(countSigned(columns, 'paused'))} are paused, and no policy selects ${countText(countSigned(columns, 'keeps-all'))}. The table below has every node.`;
}

const USES = ['use-0', 'use-1', 'use-2', 'use-3', 'use-4'];

function readColours(): Colours {
  const [unknown = '', text = '', quiet = '', mark = ''] = themeColours(['unknown', 'text', 'quiet', 'mark']);
  return { use: themeColours(USES), unknown, text, quiet, mark };
}
