import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { DashboardSession } from '../../../schemas/reports/dashboard.ts';

export const SessionContext = createContext<DashboardSession | null>(null);

/** Whether whoever looks may act, and else why not. */
export const useActions = (): DashboardSession['actions'] =>
  useContext(SessionContext)?.actions ?? { allowed: false, why: 'nobody is signed in' };

export const useRole = (): DashboardSession['role'] => useContext(SessionContext)?.role ?? 'viewer';
