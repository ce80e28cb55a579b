import type { ComponentChildren } from 'preact';
import type { DashboardActionName } from '../../../../schemas/reports/dashboard-actions.ts';
import type { About } from './acting.ts';

/** A button that does something, and its dialog. */
export interface ActionButtonProps<Name extends DashboardActionName> {
  readonly action: Name;
  /** What it does, in a word or two: on the button, and on that of its dialog. */
  readonly label: string;
  /** The same with what it is about: the heading of the dialog, and what the button is called to whoever cannot see its row. */
  readonly title: string;
  /** `null`: what was filled in is not enough yet. */
  readonly about: About<Name> | null;
  /** What follows from it, and further fields. */
  readonly children?: ComponentChildren;
  /** Called when the dialog is closed after it was done. */
  readonly onDone?: () => void;
}
