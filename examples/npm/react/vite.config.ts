import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  // The page works in any folder of a server.
  base: "./",
  plugins: [react()],
});
