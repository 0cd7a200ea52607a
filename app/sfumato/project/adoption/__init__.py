"""Earlier releases that were made elsewhere."""
