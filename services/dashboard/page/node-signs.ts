import type { DashboardFleet } from '../../../schemas/reports/dashboard.ts';

/** What is drawn on the square of a node, whatever its colour: each has a shape of its own, and room for the others. */
export type NodeSign = 'marked' | 'paused' | 'keeps-all';

/** What a sign means, for the legend. */
export const SIGN_TEXT: Readonly<Record<NodeSign, string>> = {
  marked: 'above its threshold, or has a warning',
  paused: 'paused',
  'keeps-all': 'no policy selects it: it keeps everything',
};

export const NODE_SIGNS: readonly NodeSign[] = ['marked', 'paused', 'keeps-all'];

type Shown = Pick<DashboardFleet['columns'], 'state' | 'isPaused' | 'hasPolicy'>;

export function hasSign({ state, isPaused, hasPolicy }: Shown, position: number, sign: NodeSign): boolean {
  switch (sign) {
    case 'marked':
      return state[position] === 'pressure' || state[position] === 'warned';
    case 'paused':
      return isPaused[position] === true;
    case 'keeps-all':
      return hasPolicy[position] === false;
  }
}

export const countSigned = (columns: Shown, sign: NodeSign): number =>
  columns.state.filter((_, position) => hasSign(columns, position, sign)).length;
